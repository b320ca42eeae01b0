//! Returns the earlier session that a prompt refers back to as a card, or the reason why there is none.
//!
//! Does not rank: that is `crate::suggestion`, which the hook uses too. This module only makes sure that the index is fresh.

use crate::Service;
use api::recommend::{Card, Recommend, Recommended};
use api::{Error, Handle, Request};
use history::snapshot;

impl Handle<Recommend> for Service {
    fn handle(&self, request: &Recommend) -> Result<Recommended, Error> {
        request.check_params()?;
        // If the index cannot be updated (read-only home), use it as it is.
        let _ = snapshot::open_current(&self.history());
        let own = self.own_session();
        let request = Recommend { session: request.session.clone().or(own), ..request.clone() };
        Ok(match self.find_suggestion(&self.prompt_context(&request), request.threshold) {
            Ok(pick) => Recommended {
                card: Some(Card { preview: self.preview_summary(&pick), ..self.build_card(&pick, true) }),
                confidence: Some(pick.confidence),
                ..Recommended::default()
            },
            Err((why, sure)) => Recommended::without_card(why, sure),
        })
    }
}
