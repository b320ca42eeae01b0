//! Which earlier conversation does this prompt refer back to? The card, or why there is none.
//!
//! Does not judge: that is `crate::suggestion`, which the hook asks as well. It only sees to it that the index is of today.

use crate::Service;
use api::recommend::{Card, Recommend, Recommended};
use api::{Error, Handle, Request};
use history::snapshot;

impl Handle<Recommend> for Service {
    fn handle(&self, ask: &Recommend) -> Result<Recommended, Error> {
        recommend(self, ask)
    }
}

fn recommend(service: &Service, ask: &Recommend) -> Result<Recommended, Error> {
    ask.check()?;
    // Where nothing can be written, what is known is looked at.
    drop(snapshot::current(&service.history()));
    let own = service.own_session();
    let ask = Recommend { session: ask.session.clone().or(own), ..ask.clone() };
    Ok(match service.recommended(&service.asker(&ask), ask.threshold) {
        Ok(pick) => Recommended {
            card: Some(Card { preview: service.preview(&pick), ..service.card(&pick, true) }),
            confidence: Some(pick.confidence),
            ..Recommended::default()
        },
        Err((why, sure)) => Recommended::none(why, sure),
    })
}
