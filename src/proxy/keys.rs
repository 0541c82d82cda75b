//! Which words of a command are keys: Redis' own rule of a first key, a last one and a step, and what departs from it.

/// Where a command has its keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keys {
    /// It sets a connection up, and is harmed by nothing that picks its requests.
    SetUp,
    /// Nowhere.
    Nowhere,
    /// From a word to a word, each so many words. A last word below zero counts from the end, -1 being the last.
    Range(u32, i32, u32),
    /// A word says how many there are; they follow it. Before it there may be one more.
    Counted { count: u32, also: Option<u32> },
    /// All words behind one that reads so: `XREAD ... STREAMS key id`. The ids count as keys, which harms nobody.
    Behind(&'static str),
}

/// Where the command of this name, in capitals, has its keys. One that is not listed has its first word for a key.
pub(super) fn keys_of(name: &[u8]) -> Keys {
    use Keys::{Behind, Counted, Nowhere, Range, SetUp};
    match name {
        b"HELLO" | b"AUTH" | b"CLIENT" | b"SELECT" | b"RESET" | b"QUIT" | b"READONLY" | b"READWRITE"
        | b"ASKING" | b"COMMAND" | b"INFO" => SetUp,

        b"PING" | b"ECHO" | b"TIME" | b"DBSIZE" | b"ROLE" | b"LASTSAVE" | b"LOLWUT" | b"CONFIG" | b"ACL"
        | b"MODULE" | b"LATENCY" | b"SLOWLOG" | b"DEBUG" | b"SAVE" | b"BGSAVE" | b"BGREWRITEAOF"
        | b"SHUTDOWN" | b"FAILOVER" | b"REPLICAOF" | b"SLAVEOF" | b"REPLCONF" | b"CLUSTER" | b"HOTKEYS"
        | b"TRIMSLOTS" | b"COMMANDLOG" => Nowhere,
        b"MULTI" | b"EXEC" | b"DISCARD" | b"UNWATCH" | b"WAIT" | b"WAITAOF" | b"SCRIPT" | b"FUNCTION" => {
            Nowhere
        }
        b"KEYS" | b"SCAN" | b"RANDOMKEY" | b"FLUSHDB" | b"FLUSHALL" | b"SWAPDB" => Nowhere,
        b"PUBLISH" | b"PUBSUB" | b"PFSELFTEST" => Nowhere,

        b"DEL" | b"UNLINK" | b"EXISTS" | b"TOUCH" | b"WATCH" | b"MGET" | b"SDIFF" | b"SINTER" | b"SUNION"
        | b"SDIFFSTORE" | b"SINTERSTORE" | b"SUNIONSTORE" | b"PFCOUNT" | b"PFMERGE" => Range(1, -1, 1),
        b"MSET" | b"MSETNX" => Range(1, -1, 2),
        b"RENAME" | b"RENAMENX" | b"COPY" | b"SMOVE" | b"LMOVE" | b"BLMOVE" | b"LMOVEM" | b"BLMOVEM"
        | b"RPOPLPUSH" | b"BRPOPLPUSH" | b"LCS" | b"ZRANGESTORE" | b"GEOSEARCHSTORE" => Range(1, 2, 1),
        b"BLPOP" | b"BRPOP" | b"BZPOPMIN" | b"BZPOPMAX" => Range(1, -2, 1),
        b"BITOP" => Range(2, -1, 1),
        b"MSETEX" => Range(2, -1, 2),
        b"OBJECT" | b"MEMORY" | b"XGROUP" | b"XINFO" | b"PFDEBUG" => Range(2, 2, 1),

        b"EVAL" | b"EVALSHA" | b"EVAL_RO" | b"EVALSHA_RO" | b"FCALL" | b"FCALL_RO" | b"BLMPOP"
        | b"BZMPOP" => Counted { count: 2, also: None },
        b"LMPOP" | b"ZMPOP" | b"SINTERCARD" | b"ZINTERCARD" | b"ZDIFF" | b"ZINTER" | b"ZUNION" => {
            Counted { count: 1, also: None }
        }
        b"ZDIFFSTORE" | b"ZINTERSTORE" | b"ZUNIONSTORE" => Counted { count: 2, also: Some(1) },
        b"XREAD" | b"XREADGROUP" => Behind("STREAMS"),
        b"MIGRATE" => Range(3, 3, 1),
        _ => Range(1, 1, 1),
    }
}
