// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "fabric-net-device.h"
#include "roce-path-frames.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace ns3
{

/// Equal frames, one behind the other.
struct RoceFrames
{
    uint64_t count;     //!< how many
    uint32_t wireBytes; //!< of each of them on the line
};

/// An idle path between two hosts: one of the shortest, the others may differ where links do.
struct RocePath
{
    int64_t delayPs{0};                   //!< sum of propagation delays
    uint64_t lowestRateBps{0};            //!< of its slowest line
    uint32_t switches{0};                 //!< switches on it
    double psPerByte{0.0};                //!< time to serialise one byte on all lines in turn
    bool cutsThrough{false};              //!< some of the switches do
    std::vector<const FabricPort*> lines; //!< the ports that send on it, in turn
    /// By line, how many times its rate all equal ways together have there; empty: there is one
    /// way.
    std::vector<double> width;
    /// Of several ways, by line, wire bytes of a frame that the far end waits for before it sends
    /// it on; 0: all.
    std::vector<uint32_t> heads;
    /// Of several ways, all lines of each step have one rate and lead to switches that cut through
    /// alike.
    bool alike{true};
    /// Of several unlike ways, each once, since each frame takes one; none where too many differ.
    std::vector<RocePath> singles;

    /**
     * \param from where it begins
     * \param port by which it leaves
     * \param destination host where it ends
     * \return the path, or none if the routes of the switches don't lead there
     * \throws std::invalid_argument if they run in a circle
     */
    static std::optional<RocePath> Find(const FabricNetDevice& from,
                                        uint32_t port,
                                        uint32_t destination);

    /**
     * What no packets can be faster than whose switches choose among equal ways for each of them:
     * at each step the fastest of the lines that may be taken there, and the rates of all of them
     * together, with the least delay of a whole way.
     * \param from where they begin
     * \param port by which they leave, all of them
     * \param destination host where they end
     * \return that path; the plain one where there is one way only. Where equal ways have different
     *         numbers of lines it ends with the shortest of them
     */
    static std::optional<RocePath> FindWidest(const FabricNetDevice& from,
                                              uint32_t port,
                                              uint32_t destination);

    /// \param line the next line that it takes
    void Append(const FabricPort* line);

    /// \param wireBytes bytes of a frame on the line
    /// \return time to the last bit's arrival, whatever the ports round to
    int64_t TravelPs(uint32_t wireBytes) const
    {
        return delayPs + static_cast<int64_t>(LinesPs(wireBytes, false) + 0.5);
    }

    /// \param wireBytes bytes of an answer on the line, which goes back over the same links
    /// \return the same of it
    int64_t AnswerPs(uint32_t wireBytes) const
    {
        return delayPs + static_cast<int64_t>(LinesPs(wireBytes, true) + 0.5);
    }

    /**
     * Frames one behind the other, alone on the path, each sent for as long as the ports take for
     * it.
     * \param fullFrames how many before the last
     * \param fullWireBytes bytes of each of them on the line
     * \param lastWireBytes bytes of the last
     * \return time to the arrival of the last bit of all
     */
    int64_t TravelPs(uint64_t fullFrames, uint32_t fullWireBytes, uint32_t lastWireBytes) const;
    /// \param wireBytes bytes of an answer on the line, which goes back over the same links
    /// \return time to its last bit's arrival, as the ports take for it
    int64_t ExactAnswerPs(uint32_t wireBytes) const;

  private:
    /// \param back whether it is the way back \return its lines, in turn
    std::vector<RocePathFrames::Line> GetLines(bool back) const;
    /// \param frames groups of frames \return the least time in which they come over several ways
    int64_t WidePs(const std::vector<RoceFrames>& frames) const;
    /// \param wireBytes bytes of a frame \param back whether it goes back
    /// \return the least time of the frame by itself over several ways, with the delays
    int64_t OnePs(uint32_t wireBytes, bool back) const;
    /// \param wireBytes bytes of a frame \param line one of the lines \param back whether it goes
    /// back
    /// \return the least time of the frame on all other lines of several ways
    int64_t ElsewherePs(uint32_t wireBytes, std::size_t line, bool back) const;
    /// \param wireBytes bytes of a frame \param back whether it goes back
    /// \return the least time of the frame by itself over several ways, without the delays
    int64_t AlonePs(uint32_t wireBytes, bool back) const;
    /// \param wireBytes bytes of a frame on the line \param back whether it goes back
    /// \return its time on all lines, without the delays, whatever the ports round to
    double LinesPs(uint32_t wireBytes, bool back) const;
};

} // namespace ns3
