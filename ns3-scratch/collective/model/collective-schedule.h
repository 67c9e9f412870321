// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <vector>

namespace ns3
{

/// How the rows of rank 0 stand for those of all ranks (see astra_ns3/collectives/rotation.py).
struct CollectiveRotation
{
    bool on{false};     //!< whether they do; else each rank has rows of its own
    uint32_t digits{0}; //!< digits to the base of the ranks that a block's number has
    uint32_t inner{0};  //!< ranks of a group, each of which is turned, too; 0: one group of all
};

/// Columns of a schedule as they come from Python, each `messages` long (see
/// astra_ns3/collectives/schedule.py).
struct CollectiveScheduleColumns
{
    uint32_t ranks{0};                  //!< number of ranks
    uint32_t blocks{1};                 //!< parts the data is cut in
    uint32_t expansion{1};              //!< how many times the bytes of one rank the whole is
    uint32_t lanes{1};                  //!< step s belongs to lane s % lanes
    CollectiveRotation rotation;        //!< whether the rows are those of rank 0 only
    uint64_t messages{0};               //!< number of rows
    const int32_t* sender{nullptr};     //!< rank that sends
    const int32_t* receiver{nullptr};   //!< rank that receives
    const int32_t* step{nullptr};       //!< step, orders what a rank receives
    const int32_t* firstBlock{nullptr}; //!< first block carried
    const int32_t* blockCount{nullptr}; //!< blocks carried
    const int32_t* reduces{nullptr};    //!< whether the receiver reduces what arrives
    const int32_t* waitStep{nullptr};   //!< step of the receptions waited for, or -1
    const int32_t* waitCount{nullptr};  //!< how many of them
};

/**
 * A schedule made ready to play: for each rank its sends in the order they become ready, and what
 * it receives by step.
 *
 * A rank handles receptions step by step, so what it has handled is a pair (slot, count) that only
 * grows: `slot` counts its reception steps that are complete, `count` the receptions handled of the
 * next. A send is ready once that pair has reached its own, and one cursor per phase is all the
 * state the sends need.
 *
 * With several lanes a rank does so in each lane by itself: a reception belongs to the lane of its
 * step, a send to the lane of the step that it waits for (the first, if it waits for none).
 *
 * Where all ranks do the same, each turned round by its number, what rank 0 does is kept, and
 * turned for who asks: `turn` is then the rank, else 0. Row r of what is kept has number
 * turn * rows + r.
 */
class CollectiveSchedule
{
  public:
    /// A message as its sender sees it.
    struct Send
    {
        uint32_t row;        //!< number of its row in the schedule
        uint32_t receiver;   //!< rank that receives
        uint32_t firstBlock; //!< first block carried
        uint32_t blockCount; //!< blocks carried
        uint32_t waitSlot;   //!< reception step of the sender that it waits for
        uint32_t waitCount;  //!< receptions of that step it waits for; 0 with slot 0: none
    };

    /// A message as its receiver sees it.
    struct Reception
    {
        uint32_t slot;   //!< number of its step among the receiver's steps in the lane
        uint32_t sender; //!< rank that sends
        uint32_t lane;   //!< lane that it belongs to
        bool reduces;    //!< whether what arrives is reduced
        bool isSignal;   //!< whether it carries no block
    };

    /**
     * \param columns the columns; nothing of them is kept
     * \throw std::invalid_argument if a column holds what can't be played
     */
    explicit CollectiveSchedule(const CollectiveScheduleColumns& columns);

    /// \return number of ranks
    uint32_t GetRanks() const;
    /// \return number of lanes
    uint32_t GetLanes() const;
    /// \return first send of a rank in a lane, in the order they become ready, not turned yet
    const Send* SendsBegin(uint32_t rank, uint32_t lane) const;
    /// \return behind the last send of a rank in a lane
    const Send* SendsEnd(uint32_t rank, uint32_t lane) const;
    /// \return what a rank sends. \param send one of its sends, not turned yet
    Send TurnedFor(uint32_t rank, const Send& send) const;

    /// \return what the receiver needs to know of a row
    Reception GetReception(uint32_t row) const
    {
        const uint32_t turn = m_rotation.on ? row / m_rows : 0;
        Reception reception = m_receptions[row - turn * m_rows];
        reception.sender += turn; // of what is turned, rank 0 is the sender; 0 turned is the turn
        return reception;
    }

    /// \return number of reception steps of a rank in a lane
    uint32_t GetSlots(uint32_t rank, uint32_t lane) const;
    /// \return receptions in a rank's reception step
    uint32_t GetExpected(uint32_t rank, uint32_t lane, uint32_t slot) const;
    /// \return rows that arrive at a rank, in row order
    std::vector<uint32_t> GetReceivedRows(uint32_t rank) const;
    /**
     * \param firstBlock first block of a message
     * \param blockCount its blocks
     * \param bytes what each rank brings
     * \return size of the message, at least 1
     */
    uint64_t MessageBytes(uint32_t firstBlock, uint32_t blockCount, uint64_t bytes) const;
    /// \return size of a row when each rank brings so many bytes
    uint64_t RowBytes(uint32_t row, uint64_t bytes) const;
    /// \return size that no row is below when each rank brings so many bytes
    uint64_t LeastBytes(uint64_t bytes) const;
    /// \return step of a row
    uint32_t GetStep(uint32_t row) const;

  private:
    /// Check what can be checked without playing.
    void Check(const CollectiveScheduleColumns& columns) const;
    /// Check what a rotation asks for. \throw std::invalid_argument
    void CheckRotation(const CollectiveScheduleColumns& columns) const;
    /// \return the rank whose rows stand for those of a rank
    uint32_t Kept(uint32_t rank) const;
    /// \return number of what is kept of a rank in a lane
    uint32_t Player(uint32_t rank, uint32_t lane) const;
    /// \return number of what is kept of the lane in which a rank waits, or receives
    uint32_t PlayerAt(uint32_t rank, int32_t step) const;
    /// \return what is kept, turned
    Send Turned(const Send& send, uint32_t turn) const;
    /// \return a rank turned by another one
    uint32_t TurnedRank(uint32_t rank, uint32_t turn) const;
    /// \return by what a rank is turned to become another one
    uint32_t TurnTo(uint32_t rank, uint32_t turned) const;
    /// \return a block turned by so many ranks
    uint32_t TurnedBlock(uint32_t block, uint32_t turn) const;
    /// \return all rows, by receiver and then by step
    std::vector<uint32_t> OrderReceptions(const CollectiveScheduleColumns& columns) const;
    /// Number each rank's reception steps.
    void BuildReceptions(const CollectiveScheduleColumns& columns);
    /// Order each rank's sends.
    void BuildSends(const CollectiveScheduleColumns& columns);
    /// \return number of a reception step, which must exist \param near where to look first
    uint32_t FindSlot(uint32_t player, int32_t step, uint32_t near) const;
    /// \return number of a player's reception steps
    uint32_t CountSlots(uint32_t player) const;

    uint32_t m_ranks;                     //!< number of ranks
    uint32_t m_blocks;                    //!< parts of the data
    uint32_t m_leastBlocks;               //!< that a row carries
    uint32_t m_expansion;                 //!< size of the whole over that of one rank
    uint32_t m_lanes;                     //!< number of lanes
    CollectiveRotation m_rotation;        //!< whether what is kept is that of rank 0 only
    uint32_t m_players;                   //!< ranks of which something is kept, times lanes
    uint32_t m_rows;                      //!< rows that are kept
    uint64_t m_width;                     //!< blocks that the last digit of a block's number counts
    std::vector<Send> m_sends;            //!< players' sends
    std::vector<uint64_t> m_sendOffsets;  //!< first send of each player
    std::vector<Reception> m_receptions;  //!< by row
    std::vector<uint32_t> m_rowSend;      //!< place in m_sends of each row
    std::vector<int32_t> m_slotSteps;     //!< step of each reception step, player after player
    std::vector<uint32_t> m_slotExpected; //!< receptions in it
    std::vector<uint64_t> m_slotOffsets;  //!< first reception step of each player
    std::vector<uint32_t> m_receiver;     //!< receiver of each row
};

} // namespace ns3
