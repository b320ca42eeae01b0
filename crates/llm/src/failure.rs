//! Why a call gave nothing that can be used, whose fault that is, and how long to wait before the next one.
//!
//! Does not know which model was called.

use record::Stamp;

/// What kind of failure it was, which decides what happens next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// It may work in a while: no connection, an overloaded server, no answer in time.
    Transient,
    /// Too many calls: not before a given moment.
    RateLimited,
    /// What was paid for is used up: not before a given moment, which may be days away.
    Quota,
    /// The key, the login, the name of the model or the address is wrong: a person has to look.
    Auth,
    /// The provider will not answer this.
    Refused,
    /// It answered, and the answer cannot be used; or whoever asked died of it.
    Poison,
}

impl Class {
    pub const ALL: &[Class] =
        &[Class::Transient, Class::RateLimited, Class::Quota, Class::Auth, Class::Refused, Class::Poison];

    pub fn word(self) -> &'static str {
        match self {
            Class::Transient => "transient",
            Class::RateLimited => "rate_limited",
            Class::Quota => "quota",
            Class::Auth => "auth",
            Class::Refused => "refused",
            Class::Poison => "poison",
        }
    }
}

/// Whose fault it was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// Of this one question: it has lost an attempt, and the next one is asked.
    Job,
    /// Any other would have met the same: the provider is left in peace for a while, and the question has lost nothing.
    Provider,
    /// Nobody can tell, as with a server's inner error: both.
    Either,
}

/// What a call cost.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Usage {
    pub tokens_in: u64,
    pub tokens_out: u64,
    /// Whether the provider told; otherwise nothing is known and what was reserved stands.
    pub told: bool,
    /// In dollars, where the provider says so itself.
    pub cost: Option<f64>,
}

impl Usage {
    /// Of a call that never left.
    const NOTHING: Usage = Usage { tokens_in: 0, tokens_out: 0, told: true, cost: Some(0.0) };

    /// As the ledger counts it: where the provider does not tell, what was reserved.
    pub(crate) fn counted(self, reserved: u64) -> Usage {
        if self.told { self } else { Usage { tokens_in: reserved, tokens_out: 0, ..self } }
    }
}

#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    pub class: Class,
    pub fault: Fault,
    /// Not before; none: as long as a failure of this kind usually takes.
    pub until: Option<Stamp>,
    pub message: String,
    /// An answer that cannot be used has its price all the same.
    pub usage: Usage,
    /// Nothing of the question has certainly left: nobody can ask money for it. Whatever may have left counts as sent.
    pub unsent: bool,
}

impl Failure {
    pub fn of_job(class: Class, message: impl Into<String>) -> Failure {
        let (message, usage) = (message.into(), Usage::default());
        Failure { class, fault: Fault::Job, until: None, message, usage, unsent: false }
    }

    pub fn of_provider(class: Class, message: impl Into<String>) -> Failure {
        Failure { fault: Fault::Provider, ..Failure::of_job(class, message) }
    }

    pub fn of_either(class: Class, message: impl Into<String>) -> Failure {
        Failure { fault: Fault::Either, ..Failure::of_job(class, message) }
    }

    #[must_use]
    pub fn until(self, until: Option<Stamp>) -> Failure {
        Failure { until, ..self }
    }

    #[must_use]
    pub fn spent(self, usage: Usage) -> Failure {
        Failure { usage, ..self }
    }

    /// Whether nothing of the question left.
    #[must_use]
    pub fn unsent(self, unsent: bool) -> Failure {
        Failure { unsent, ..self }
    }

    /// With what the ledger counts for it.
    #[must_use]
    pub(crate) fn counted(self, reserved: u64) -> Failure {
        let usage = if self.unsent { Usage::NOTHING } else { self.usage.counted(reserved) };
        Failure { usage, ..self }
    }

    /// The message without something that must not be shown.
    #[must_use]
    pub fn without(self, secret: &str) -> Failure {
        if secret.is_empty() {
            return self;
        }
        Failure { message: self.message.replace(secret, "(the key)"), ..self }
    }
}
