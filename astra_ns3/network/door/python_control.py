"""A user's congestion control written in Python: the C++ class that calls it, and what it calls of C++."""

from __future__ import annotations

import itertools
from functools import lru_cache

from astra_ns3.network.door.library import Native, control_header, load_calls_of_python
from astra_ns3.user_code import UserFunction

_PYTHON_CONTROLS = """
namespace astra_ns3_control {
// Everything that crosses is a number. An object of Python's that C++ deletes, or a view of an object of C++'s that is
// gone, is what cppyy's books of who lives where do not survive when the next run uses the same addresses.
class Calls {
  public:
    virtual ~Calls() = default;
    virtual int64_t Made() = 0; // cppyy overrides nothing that returns a type of two words
    virtual void Start(int64_t control, uint64_t sender) = 0;
    virtual void AckReceived(int64_t control, uint64_t ack) = 0;
    virtual void Called(int64_t control, uint32_t method, uint32_t argument) = 0;
    virtual int32_t GetTelemetry(int64_t control) = 0;
    virtual double GetAlpha(int64_t control) = 0;
    virtual void Gone(int64_t control) = 0;
};
Calls* calls = nullptr;
uint32_t methods = 0;
enum Method : uint32_t { ACK_RECEIVED, CNP_RECEIVED, PACKET_SENT, LOSS_DETECTED, TIMER_DUE };
class Forward : public ns3::RoceCongestionControl {
  public:
    Forward() : m_number(calls->Made()) {}
    ~Forward() override { if (calls) { calls->Gone(m_number); } }
    void Start(ns3::RoceSender& sender) override { calls->Start(m_number, reinterpret_cast<uint64_t>(&sender)); }
    void AckReceived(ns3::RoceSender&, const ns3::RoceAck& ack) override {
        if (Has(ACK_RECEIVED)) { calls->AckReceived(m_number, reinterpret_cast<uint64_t>(&ack)); }
    }
    void CnpReceived(ns3::RoceSender&) override { Call(CNP_RECEIVED, 0); }
    void PacketSent(ns3::RoceSender&, uint32_t bytes) override { Call(PACKET_SENT, bytes); }
    void LossDetected(ns3::RoceSender&, bool timeout) override { Call(LOSS_DETECTED, timeout); }
    void TimerDue(ns3::RoceSender&, uint32_t timer) override { Call(TIMER_DUE, timer); }
    ns3::RoceTelemetry GetTelemetry() const override {
        return static_cast<ns3::RoceTelemetry>(calls->GetTelemetry(m_number));
    }
    double GetAlpha() const override { return calls->GetAlpha(m_number); }
  private:
    static bool Has(Method method) { return methods >> method & 1; }
    void Call(Method method, uint32_t argument) {
        if (Has(method)) { calls->Called(m_number, method, argument); }
    }
    int64_t m_number;
};
ns3::RoceCongestionControl* MakeForward(const ns3::RoceControlParameters&) { return new Forward(); }
uint64_t AddressOfMakeForward() { return reinterpret_cast<uint64_t>(&MakeForward); }
void Use(Calls* newCalls, uint32_t newMethods) { calls = newCalls; methods = newMethods; }

inline ns3::RoceSender& SenderAt(uint64_t address) { return *reinterpret_cast<ns3::RoceSender*>(address); }
int64_t GetNowPs(uint64_t sender) { return SenderAt(sender).GetNowPs(); }
uint64_t GetLineRateBps(uint64_t sender) { return SenderAt(sender).GetLineRateBps(); }
int64_t GetBaseRoundTripPs(uint64_t sender) { return SenderAt(sender).GetBaseRoundTripPs(); }
uint64_t GetBandwidthDelayBytes(uint64_t sender) { return SenderAt(sender).GetBandwidthDelayBytes(); }
uint32_t GetPayloadBytes(uint64_t sender) { return SenderAt(sender).GetPayloadBytes(); }
uint32_t GetPacketBytes(uint64_t sender) { return SenderAt(sender).GetPacketBytes(); }
uint32_t GetSwitches(uint64_t sender) { return SenderAt(sender).GetSwitches(); }
uint64_t GetSentBytes(uint64_t sender) { return SenderAt(sender).GetSentBytes(); }
uint64_t GetAcknowledgedBytes(uint64_t sender) { return SenderAt(sender).GetAcknowledgedBytes(); }
double GetRateBps(uint64_t sender) { return SenderAt(sender).GetRateBps(); }
void SetRateBps(uint64_t sender, double rate) { SenderAt(sender).SetRateBps(rate); }
uint64_t GetWindowBytes(uint64_t sender) { return SenderAt(sender).GetWindowBytes(); }
void SetWindowBytes(uint64_t sender, uint64_t bytes) { SenderAt(sender).SetWindowBytes(bytes); }
void StartTimer(uint64_t sender, uint32_t timer, int64_t delayPs) { SenderAt(sender).StartTimer(timer, delayPs); }
void StopTimer(uint64_t sender, uint32_t timer) { SenderAt(sender).StopTimer(timer); }
double GetRandom(uint64_t sender) { return SenderAt(sender).GetRandom(); }

inline const ns3::RoceAck& AckAt(uint64_t address) { return *reinterpret_cast<const ns3::RoceAck*>(address); }
int64_t AckRoundTripPs(uint64_t ack) { return AckAt(ack).roundTripPs; }
uint64_t AckAcknowledgedBytes(uint64_t ack) { return AckAt(ack).acknowledgedBytes; }
uint64_t AckNewBytes(uint64_t ack) { return AckAt(ack).newBytes; }
bool AckMarked(uint64_t ack) { return AckAt(ack).marked; }
uint32_t AckSwitches(uint64_t ack) { return AckAt(ack).switches; }
uint32_t AckHops(uint64_t ack) { return AckAt(ack).hops; }
double AckPathUtilisation(uint64_t ack) { return AckAt(ack).pathUtilisation; }
int64_t HopTimePs(uint64_t ack, uint32_t hop) { return AckAt(ack).telemetry[hop].timePs; }
uint64_t HopSentBytes(uint64_t ack, uint32_t hop) { return AckAt(ack).telemetry[hop].sentBytes; }
uint64_t HopQueueBytes(uint64_t ack, uint32_t hop) { return AckAt(ack).telemetry[hop].queueBytes; }
uint64_t HopRateBps(uint64_t ack, uint32_t hop) { return AckAt(ack).telemetry[hop].rateBps; }
}
"""
# By number, as in the C++ above, and what each is told besides its sender.
_CALLED_METHODS: tuple[tuple[str, tuple[type, ...]], ...] = (
    ("ack_received", ()),
    ("cnp_received", ()),
    ("packet_sent", (int,)),
    ("loss_detected", (bool,)),
    ("timer_due", (int,)),
)


@lru_cache(maxsize=1)
def control_functions() -> Native:
    """C++ functions on a sender or an acknowledgement, which are named by their addresses."""
    load_calls_of_python()
    import cppyy

    cppyy.cppdef(control_header() + _PYTHON_CONTROLS)
    return cppyy.gbl.astra_ns3_control


@lru_cache(maxsize=1)
def _calls_class() -> type:
    namespace = control_functions()

    class Calls(namespace.Calls):  # type: ignore[misc, name-defined]
        """Passes what C++ calls on to Python's controls, which are known by number while C++'s live."""

        def __init__(self, make: UserFunction) -> None:
            super().__init__()
            self._make = make
            self._controls: dict[int, Native] = {}
            self._numbers = itertools.count()

        def Made(self) -> int:  # noqa: N802
            number = next(self._numbers)
            self._controls[number] = self._make()
            return number

        def Start(self, control: int, sender: int) -> None:  # noqa: N802
            self._controls[control].start(sender)

        def AckReceived(self, control: int, ack: int) -> None:  # noqa: N802
            self._controls[control].acknowledged(ack)

        def Called(self, control: int, method: int, argument: int) -> None:  # noqa: N802
            name, kinds = _CALLED_METHODS[method]
            self._controls[control].tell(name, *(kind(argument) for kind in kinds))

        def GetTelemetry(self, control: int) -> int:  # noqa: N802
            return int(self._controls[control].telemetry())

        def GetAlpha(self, control: int) -> float:  # noqa: N802
            return float(self._controls[control].alpha())

        def Gone(self, control: int) -> None:  # noqa: N802
            del self._controls[control]

    return Calls


def python_control_factory(make: UserFunction, methods: frozenset[str]) -> tuple[int, object]:
    """Have C++ make congestion controls that pass ``methods`` on to what ``make()`` returns.

    The address of the function that makes one, and what must be kept as long as it may be called.
    """
    namespace = control_functions()
    calls = _calls_class()(make)
    namespace.Use(calls, sum(1 << number for number, (name, _) in enumerate(_CALLED_METHODS) if name in methods))
    return int(namespace.AddressOfMakeForward()), calls
