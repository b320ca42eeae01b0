//! Model calls, the only part of Loci that uses the network: takes masked text, checks the budget, calls a model, writes
//! a receipt.
//!
//! Without a model configured by the user there is no server to call, and no text leaves the machine. Does not know what
//! sessions, summaries or facts are.

mod anthropic;
mod claude;
mod completion;
mod errand;
mod failure;
mod harmless;
mod http;
mod ledger;
mod openai;
mod prompt;
mod provider;
mod wait;

pub use claude::{PASSED, WITHIN};
pub use completion::Completion;
pub use errand::{Desk, Ran, expected, price_of};
pub use failure::{Class, Failure, Fault, Usage};
pub use harmless::harmless;
pub use http::BadAddress;
pub use ledger::{ATTEMPTS, Claim, Closed, DAY, Error, Job, JobRow, Ledger, Receipt, Want};
pub use prompt::MaskedPrompt;
pub use provider::{Key, Limits, Misconfigured, Model, PROVIDERS, Provider, Settings};
