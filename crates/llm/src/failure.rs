//! Why a call produced no usable answer, who is at fault, and how long to wait before the next one.
//!
//! Does not know which model was called.

use record::Stamp;

/// The kind of failure, which decides what happens next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FailureClass {
    /// May work later: no connection, an overloaded server, a timeout.
    Transient,
    /// Too many calls: wait until a given time.
    RateLimited,
    /// The quota is exhausted: wait until a given time, which may be days away.
    Quota,
    /// The key, login, model name or address is wrong: a person has to fix it.
    Auth,
    /// The provider refuses this request.
    Refused,
    /// The answer is unusable, or the process handling it died each time.
    Poison,
}

impl FailureClass {
    pub const ALL: &[FailureClass] = &[
        FailureClass::Transient,
        FailureClass::RateLimited,
        FailureClass::Quota,
        FailureClass::Auth,
        FailureClass::Refused,
        FailureClass::Poison,
    ];

    pub fn word(self) -> &'static str {
        match self {
            FailureClass::Transient => "transient",
            FailureClass::RateLimited => "rate_limited",
            FailureClass::Quota => "quota",
            FailureClass::Auth => "auth",
            FailureClass::Refused => "refused",
            FailureClass::Poison => "poison",
        }
    }
}

/// Who is at fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// This job: it loses an attempt, and the next job is tried.
    Job,
    /// The provider: any other job would have failed too. The provider is not called for a while, and the job loses nothing.
    Provider,
    /// Unknown, as with an internal server error: treated as both.
    Either,
}

/// The cost of a call.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Usage {
    pub tokens_in: u64,
    pub tokens_out: u64,
    /// Whether the provider reported its usage. Otherwise the reserved amount counts.
    pub reported: bool,
    /// In dollars, if the provider reports it.
    pub cost: Option<f64>,
}

impl Usage {
    /// The usage of a call that was never sent.
    const ZERO: Usage = Usage { tokens_in: 0, tokens_out: 0, reported: true, cost: Some(0.0) };

    /// The usage that the ledger counts: the reported one, or else the reserved amount.
    pub(crate) fn or_reserved(self, reserved: u64) -> Usage {
        if self.reported { self } else { Usage { tokens_in: reserved, tokens_out: 0, ..self } }
    }
}

#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    pub class: FailureClass,
    pub fault: Fault,
    /// When to retry. `None`: after the usual time for this class.
    pub until: Option<Stamp>,
    pub message: String,
    /// An unusable answer has a price, too.
    pub usage: Usage,
    /// No part of the request was sent, so it cannot have a cost. If any part may have been sent, this is false.
    pub unsent: bool,
}

impl Failure {
    pub fn of_job(class: FailureClass, message: impl Into<String>) -> Failure {
        let (message, usage) = (message.into(), Usage::default());
        Failure { class, fault: Fault::Job, until: None, message, usage, unsent: false }
    }

    pub fn of_provider(class: FailureClass, message: impl Into<String>) -> Failure {
        Failure { fault: Fault::Provider, ..Failure::of_job(class, message) }
    }

    pub fn of_either(class: FailureClass, message: impl Into<String>) -> Failure {
        Failure { fault: Fault::Either, ..Failure::of_job(class, message) }
    }

    #[must_use]
    pub fn with_until(self, until: Option<Stamp>) -> Failure {
        Failure { until, ..self }
    }

    #[must_use]
    pub fn with_usage(self, usage: Usage) -> Failure {
        Failure { usage, ..self }
    }

    /// Sets whether no part of the request was sent.
    #[must_use]
    pub fn with_unsent(self, unsent: bool) -> Failure {
        Failure { unsent, ..self }
    }

    /// Replaces the usage with the one that the ledger counts.
    #[must_use]
    pub(crate) fn with_counted_usage(self, reserved: u64) -> Failure {
        let usage = if self.unsent { Usage::ZERO } else { self.usage.or_reserved(reserved) };
        Failure { usage, ..self }
    }

    /// Removes a secret from the message.
    #[must_use]
    pub fn without_secret(self, secret: &str) -> Failure {
        if secret.is_empty() {
            return self;
        }
        Failure { message: self.message.replace(secret, "(the key)"), ..self }
    }
}
