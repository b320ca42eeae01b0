//! The clients: how the store of each differs from the others.
//!
//! Does not know how a store is read.

use crate::check::{CLIENT, Client};

pub(crate) const KILO: Client = Client { name: "kilo", tokens: [140_303, 992, 140_292, 0], ..CLIENT };
pub(crate) const QWEN: Client = Client { name: "qwen", tokens: [160_423, 840, 160_416, 0], ..CLIENT };
pub(crate) const PI: Client = Client { name: "pi", tokens: [13_996, 832, 13_989, 0], ..CLIENT };
pub(crate) const COPILOT: Client = Client {
    name: "copilot",
    tokens: [105_649, 883, 105_640, 0],
    models: &["gpt-4.1"],
    reworded: &["view", "no_such_tool"],
    ..CLIENT
};
pub(crate) const DROID: Client = Client {
    name: "droid",
    tokens: [83_723, 891, 83_714, 0],
    models: &["custom:stub"],
    reworded: &["Create", "Edit"],
    ..CLIENT
};
pub(crate) const GROK: Client = Client { name: "grok", tokens: [102_013, 732, 102_006, 0], ..CLIENT };
pub(crate) const CLINE: Client = Client { name: "cline", tokens: [43_910, 782, 43_904, 0], ..CLIENT };
pub(crate) const CN: Client = Client {
    name: "cn",
    tokens: [18_321, 790, 18_311, 0],
    unrecorded: &["err", "int", "kill9"],
    times: false,
    ..CLIENT
};
pub(crate) const OPENHANDS: Client =
    Client { name: "openhands", tokens: [60_561, 682, 60_554, 0], models: &["openai/stub-model"], ..CLIENT };
pub(crate) const HERMES: Client = Client { name: "hermes", tokens: [105_099, 899, 105_088, 0], ..CLIENT };
pub(crate) const VIBE: Client =
    Client { name: "vibe", reworded: &["no_such_tool"], tokens: [64_210, 782, 64_204, 0], ..CLIENT };
pub(crate) const AIDER: Client = Client {
    name: "aider",
    tokens: [3_694, 204, 0, 0],
    root: Some("work/aider/my.proj_é 1"),
    own_tools: &["edit"],
    models: &["openai/stub-model"],
    ..CLIENT
};
pub(crate) const GPTME: Client = Client {
    name: "gptme",
    tokens: [37_164, 573, 37_160, 0],
    prompt_only: &["kill9"],
    models: &["stub/stub-model"],
    ..CLIENT
};
pub(crate) const KIMI: Client =
    Client { name: "kimi", tokens: [159_492, 782, 159_485, 0], models: &[], ..CLIENT };
