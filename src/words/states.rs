//! The states, one after the other: everything that is fixed about each.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::state::{By, FAILURES, Form, Keeps, Parameter, ParameterSpec, StateFacts, Waits};

/// Declares the states once, in the order in which reports show them.
macro_rules! states {
    ($(
        $(#[$doc:meta])*
        $variant:ident $name:literal $form:ident $warm:ident $by:ident $asked:ident waits $waits:ident straddles $straddles:literal
            answers $answers:literal keeps $keeps:ident takes $takes:ident
            how $how:literal
            reproduces $reproduces:literal
            lacks $lacks:literal
            fate $fate:expr;
            systems $systems:ident
            reported $reported:literal;
    )*) => {
        /// What is wrong with Redis while operations are probed.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum State {
            $($(#[$doc])* $variant,)*
        }

        impl State {
            /// Every state, in the order in which reports show them.
            pub const ALL: &[State] = &[$(State::$variant,)*];

            /// What is fixed about it.
            pub fn facts(self) -> &'static StateFacts {
                match self {
                    $(State::$variant => &StateFacts {
                        name: $name,
                        form: Form::$form,
                        cold: states!(@cold $warm),
                        by: By::$by,
                        by_default: states!(@asked $asked),
                        waits: Waits::$waits,
                        straddles: $straddles,
                        answers: $answers,
                        keeps: Keeps::$keeps,
                        takes: $takes,
                        how: $how,
                        reproduces: $reproduces,
                        lacks: $lacks,
                        fate: $fate,
                        systems: $systems,
                        reported: $reported,
                    },)*
                }
            }
        }
    };
    (@cold Warm) => { false };
    (@cold Cold) => { true };
    (@asked ByDefault) => { true };
    (@asked WhenAsked) => { false };
}

/// For states that have no parameter.
const NOTHING: &[ParameterSpec] = &[];

const LATENCY: &[ParameterSpec] = &[
    ParameterSpec {
        name: "latency",
        default: Parameter::Duration(Duration::from_millis(200)),
        says: "how much longer a round trip takes, 10 s at most",
    },
    ParameterSpec {
        name: "jitter",
        default: Parameter::Duration(Duration::from_millis(50)),
        says: "by how much more or less at most, at random and no more than the latency",
    },
];

const AFTER: &[ParameterSpec] = &[ParameterSpec {
    name: "after",
    default: Parameter::Count(4),
    says: "how many bytes of a reply come; its last byte never does",
}];

const BY_TURNS: &[ParameterSpec] = &[ParameterSpec {
    name: FAILURES,
    default: Parameter::Count(2),
    says: "how many requests of a key fail before one is served",
}];

/// Where nothing but the server itself is needed.
const ANYWHERE: &str = "Linux and macOS";

/// What becomes of a command that waits in a pause.
const WAITS: &str = "a command that waits runs when the server goes on, unless its connection is closed";

/// What becomes of a command that was sent to a frozen process.
const FROZEN: &str =
    "a frozen process runs what it was sent when it goes on, even where the client has closed the connection";

/// What becomes of the commands of a client that can't connect.
const COLD: &str =
    "a client whose connect times out has sent nothing; what it did send runs when the server goes on";

/// What becomes of a command that was sent to a server that is not there.
const GONE: &str = "what is sent to a stopped server never runs";

/// What becomes of a command that can't be sent.
const CLOSED: &str = "what is sent on a connection that is closed never runs";

/// What becomes of a command that was answered with an error.
const REJECTED: &str = "a command that the server rejects changes nothing, and does not run later";

/// Where the operating system's accept queue is part of it.
const LINUX: &str = "Linux";

states! {
    /// Nothing is wrong: the control that every other state is compared with.
    Healthy "healthy" Condition Warm Server ByDefault waits Nothing straddles false answers true keeps All takes NOTHING
        how "a redis-server that answers; the control"
        reproduces "a server on the same host as its clients"
        lacks "a network in between, so its latency is a lower bound for yours"
        fate "it is answered";
        systems ANYWHERE
        reported "";
    /// Connections stay open and nothing is answered (`CLIENT PAUSE`).
    Paused "paused" Condition Warm Server ByDefault waits Paused straddles true answers false keeps All takes NOTHING
        how "CLIENT PAUSE ALL, after the clients had connected"
        reproduces "a server that keeps its connections and answers nothing (a long command, a stalled disk, a silent network); the kernel still accepts connections"
        lacks "a command whose connection was closed is dropped, where a frozen process would run it later"
        fate WAITS;
        systems ANYWHERE
        reported "https://github.com/redis/redis/issues/6830";
    /// The same, for a client that connects for the first time meanwhile.
    PausedCold "paused_cold" Condition Cold Server WhenAsked waits Paused straddles false answers false keeps All takes NOTHING
        how "CLIENT PAUSE ALL, before the clients first connect"
        reproduces "a deploy, or a pool that grows, while the server answers nothing: the handshake waits as well"
        lacks "redis-server 7.0 rejects CLIENT SETINFO even in a pause, so that a connect succeeds there and only the first command waits"
        fate COLD;
        systems ANYWHERE
        reported "https://github.com/redis/redis/issues/3955";
    /// Reads are answered and writes wait (`CLIENT PAUSE WRITE`).
    WritesPaused "writes_paused" Condition Warm Server WhenAsked waits Writes straddles true answers true keeps All takes NOTHING
        how "CLIENT PAUSE WRITE, after the clients had connected"
        reproduces "the moment of a planned failover: reads and scripts declared read-only answer, writes and plain scripts wait"
        lacks "the failover itself: the server that goes on is the same one"
        fate WAITS;
        systems ANYWHERE
        reported "https://github.com/redis/redis/issues/10985";
    /// The process is stopped by a signal and holds all its connections.
    Frozen "frozen" Condition Warm Server WhenAsked waits Frozen straddles true answers false keeps All takes NOTHING
        how "SIGSTOP to the process after the clients had connected, SIGCONT at the end"
        reproduces "a virtual machine that is paused or migrated, a container that is paused, a process that swaps: what was sent runs on resume, even where its client has closed the connection"
        lacks "the kernel goes on accepting connections up to a backlog of 4,096 here and of 511 by default: beyond that, a connect would wait as well"
        fate FROZEN;
        systems ANYWHERE
        reported "https://github.com/redis/redis-py/issues/261";
    /// The same, for a client that connects for the first time meanwhile.
    FrozenCold "frozen_cold" Condition Cold Server WhenAsked waits Frozen straddles false answers false keeps All takes NOTHING
        how "SIGSTOP to the process before the clients first connect, SIGCONT at the end"
        reproduces "a deploy, or a pool that grows, while the server's machine stands still: the connect succeeds and no handshake is answered"
        lacks "a full backlog, in which a connect would wait as well"
        fate COLD;
        systems ANYWHERE
        reported "https://github.com/redis/ioredis/pull/1318";
    /// The process is gone and its port refuses, after the clients had connected.
    Stopped "stopped" Condition Warm Server ByDefault waits Nothing straddles false answers false keeps All takes NOTHING
        how "the process is killed after the clients had connected, its port refuses, and it starts again with its data"
        reproduces "a crashed process on a host that is up: connections are reset, new ones refused at once"
        lacks "a host that is gone answers nothing instead, and costs the connect timeout"
        fate GONE;
        systems ANYWHERE
        reported "https://github.com/flapjack/flapjack/issues/915";
    /// The process is gone before the clients first connect.
    NeverUp "never_up" Condition Cold Server WhenAsked waits Nothing straddles false answers false keeps All takes NOTHING
        how "the process is killed and its port refuses before the clients first connect"
        reproduces "a service that starts before its Redis does, or with a wrong port"
        lacks "a name that does not resolve, and a host that is gone: the connect would cost its timeout"
        fate GONE;
        systems ANYWHERE
        reported "https://github.com/spring-projects/spring-boot/issues/22715";
    /// The server has started again without its data.
    RestartedEmpty "restarted_empty" Event Warm Server WhenAsked waits Nothing straddles false answers true keeps Nothing takes NOTHING
        how "the process is killed, its data is thrown away, and it starts again at the same address"
        reproduces "a server without persistence that was restarted or moved: locks, tokens, denylists and the script cache are gone, and every connection is reset"
        lacks "the time in which it was down: see stopped"
        fate "what was stored before the restart is gone with the server's memory, and so are the connections";
        systems ANYWHERE
        reported "https://github.com/Openpanel-dev/groupmq/issues/16";
    /// A replica that missed the last writes has become the master.
    FailoverLostWrite "failover_lost_write" Event Warm Server WhenAsked waits Nothing straddles false answers true keeps AllButTheLast takes NOTHING
        how "a replica is cut off, a write is acknowledged by the master, the master is killed, and the replica is promoted at the master's address"
        reproduces "a failover under asynchronous replication: what was acknowledged last is not there afterwards, and every connection is reset"
        lacks "the time in which nobody is master, a client that has to be told of a new address, and an old master that comes back"
        fate "what was acknowledged last had not reached the replica that is now the master";
        systems ANYWHERE
        reported "https://github.com/opsmill/infrahub/issues/9450";
    /// Every client's connection was closed by the server.
    ConnectionsKilled "connections_killed" Event Warm Server WhenAsked waits Nothing straddles false answers true keeps All takes NOTHING
        how "CLIENT KILL of every client by its id; the server answers all the time"
        reproduces "a server or a balancer that closes connections (an idle timeout, a rolled proxy, an administrator)"
        lacks "a connection that is dropped without a word: its next command would wait"
        fate CLOSED;
        systems ANYWHERE
        reported "https://github.com/valkey-io/valkey-glide/issues/6602";
    /// The server has started and reads its data.
    Loading "loading" Condition Warm Server WhenAsked waits Nothing straddles false answers false keeps All takes NOTHING
        how "the process is killed after the clients had connected and starts again with a dump that it loads slowly (key-load-delay)"
        reproduces "a restart with much data, or a replica that synchronises: every connection was reset, and every command is rejected with LOADING"
        lacks "a loading server that is too busy to answer at once; writes of the last second that a dump does not hold"
        fate REJECTED;
        systems ANYWHERE
        reported "https://github.com/redis/ioredis/issues/1015";
    /// A script runs for too long.
    Busy "busy" Condition Warm Server WhenAsked waits Nothing straddles false answers false keeps All takes NOTHING
        how "a script that loops beyond lua-time-limit, killed at the end"
        reproduces "a slow script after its time limit: every command is rejected with BUSY"
        lacks "the time before the limit (5 s by default), in which the server is silent: see paused"
        fate REJECTED;
        systems ANYWHERE
        reported "https://github.com/taskforcesh/bullmq/issues/265";
    /// Memory is used up and nothing is evicted.
    OutOfMemory "out_of_memory" Condition Warm Server WhenAsked waits Nothing straddles false answers true keeps All takes NOTHING
        how "maxmemory 1 with maxmemory-policy noeviction"
        reproduces "a full server that evicts nothing: writes that need memory are rejected with OOM, reads and deletions answer"
        lacks "a server that evicts, and one that the system kills"
        fate REJECTED;
        systems ANYWHERE
        reported "https://github.com/redis/redis/issues/8623";
    /// The server is a replica.
    ReadOnly "read_only" Condition Warm Server WhenAsked waits Nothing straddles false answers true keeps All takes NOTHING
        how "REPLICAOF a port that refuses, so that the server is a replica whose master is gone"
        reproduces "a client that still talks to a demoted master: writes are rejected with READONLY, reads answer what was there"
        lacks "a balancer that closes the connections when it follows the master"
        fate REJECTED;
        systems ANYWHERE
        reported "https://github.com/StackExchange/StackExchange.Redis/issues/2264";
    /// The server is a replica that has lost its master and answers no reads.
    ReplicaCutOff "replica_cut_off" Condition Warm Server WhenAsked waits Nothing straddles false answers false keeps All takes NOTHING
        how "REPLICAOF a port that refuses, with replica-serve-stale-data no"
        reproduces "a replica that has lost its master and may not serve stale data: reads are rejected with MASTERDOWN, writes with READONLY"
        lacks "a replica that synchronises meanwhile, and answers LOADING"
        fate REJECTED;
        systems ANYWHERE
        reported "https://github.com/Snapchat/KeyDB/issues/232";
    /// The master has too few replicas to take writes.
    NoReplicas "no_replicas" Condition Warm Server WhenAsked waits Nothing straddles false answers true keeps All takes NOTHING
        how "min-replicas-to-write 1 on a server that has none"
        reproduces "a master that was cut off from its replicas: writes are rejected with NOREPLICAS, reads answer"
        lacks "the failover that the other side makes meanwhile"
        fate REJECTED;
        systems ANYWHERE
        reported "https://github.com/redis/redis/issues/3031";
    /// The server can't write its snapshot.
    DiskFailed "disk_failed" Condition Warm Server WhenAsked waits Nothing straddles false answers true keeps All takes NOTHING
        how "a snapshot that fails, as a folder is in the dump's place, with stop-writes-on-bgsave-error yes"
        reproduces "a full or broken disk under a server that saves snapshots: every write, deletions too, is rejected with MISCONF"
        lacks "a disk that is slow instead, and a server with an append-only file, which may end by itself"
        fate REJECTED;
        systems ANYWHERE
        reported "https://github.com/redis/redis/issues/9913";
    /// The password has changed.
    AuthRejected "auth_rejected" Condition Warm Server WhenAsked waits Nothing straddles false answers false keeps All takes NOTHING
        how "requirepass is set and every client's connection is killed"
        reproduces "a rotated password: live connections would go on, so they are closed as a restart does, and new ones are rejected with NOAUTH"
        lacks "a client that sends its old password, and is told WRONGPASS: the audit's clients have none"
        fate REJECTED;
        systems ANYWHERE
        reported "https://github.com/redis-rb/redis-client/issues/274";
    /// The server takes no more connections.
    TooManyClients "too_many_clients" Condition Warm Server WhenAsked waits Nothing straddles false answers false keeps All takes NOTHING
        how "maxclients at the number of the audit's own connections, and every client's connection is killed"
        reproduces "clients that need a new connection while others hold all: the server says so and closes, which many clients tell as a reset"
        lacks "clients whose connections are alive: they go on, and notice nothing"
        fate CLOSED;
        systems ANYWHERE
        reported "https://github.com/redis/go-redis/issues/2183";
    /// Every answer comes late.
    Slow "slow" Condition Warm Proxy WhenAsked waits Latency straddles false answers true keeps All takes LATENCY
        how "a proxy that is late with each packet, half of a latency with jitter on the way there and half on the way back"
        reproduces "a server in another region, a congested network"
        lacks "a connect that is slow, as loopback completes it at once; packets that are lost and sent again; a bandwidth that is used up"
        fate "a command runs when it arrives, also where its caller has given up meanwhile";
        systems ANYWHERE
        reported "https://github.com/PostHog/posthog/pull/34187";
    /// Commands run and their replies never arrive.
    ReplyLost "reply_lost" Condition Warm Proxy WhenAsked waits Nothing straddles true answers false keeps All takes NOTHING
        how "a proxy that lets each request through, drops its reply, and resets the connection"
        reproduces "a connection that breaks after the server ran the command (a failover, a balancer that is restarted): the client can't know whether it did"
        lacks "a network that only goes silent, see black_hole; a connection that breaks before the command arrives, see flapping"
        fate "the server ran the command, and its reply was lost";
        systems ANYWHERE
        reported "https://github.com/redis-rb/redis-client/issues/92";
    /// Connections are cut in the middle of a reply.
    CutMidReply "cut_mid_reply" Condition Warm Proxy WhenAsked waits Nothing straddles true answers false keeps All takes AFTER
        how "a proxy that resets the connection after the first bytes of a reply"
        reproduces "a connection that breaks inside of a reply: what was read so far is no answer"
        lacks "bytes that are changed on the way, which TCP does not let through"
        fate "the server ran the command, and its reply was cut";
        systems ANYWHERE
        reported "https://github.com/phpredis/phpredis/issues/974";
    /// Nothing arrives any more, in either direction.
    BlackHole "black_hole" Condition Warm Proxy WhenAsked waits Network straddles true answers false keeps All takes NOTHING
        how "a proxy that stops reading and writing, with a full accept queue, so that new connections hang"
        reproduces "a host or a network that is gone without a word: no reset, no refusal"
        lacks "the system's own end of it: after minutes of retransmission the kernel gives a connection up"
        fate "what was sent into the silence arrives when the network is back, even where its client has closed the connection";
        systems LINUX
        reported "https://github.com/redis/ioredis/issues/1932";
    /// Calls fail and succeed by turns.
    Flapping "flapping" Condition Warm Proxy WhenAsked waits Nothing straddles false answers true keeps All takes BY_TURNS
        how "a proxy that resets a number of requests of each key before they reach the server and lets the next one through, again and again"
        reproduces "a server or a balancer that comes and goes: retries succeed, and breakers open and close"
        lacks "failures that take their time; callers that share a key, as those of scenarios do: they take turns from each other, so none are played"
        fate "a request that was reset never reaches the server, and the next one succeeds in its turn";
        systems ANYWHERE
        reported "https://github.com/gravitee-io/gravitee-api-management/pull/18482";
}
