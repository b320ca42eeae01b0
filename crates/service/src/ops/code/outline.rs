//! What a type or a member looks like, and what that costs beside its source.
//!
//! Does not know what it is for: a note may say that.

use super::code_query::{CodeQuery, at_desk};
use crate::Service;
use api::code::{GetMemberOutline, GetOutline, Outlined};
use api::{Code, Error, Handle, Request};
use code::Symbol;

impl Handle<GetOutline> for Service {
    fn handle(&self, ask: &GetOutline) -> Result<Outlined, Error> {
        get_outline(self, ask)
    }
}

fn get_outline(service: &Service, ask: &GetOutline) -> Result<Outlined, Error> {
    ask.check()?;
    at_desk(service, ask.root.as_ref(), |desk| Ok(outlined(desk, desk.one(&ask.path)?)))
}

impl Handle<GetMemberOutline> for Service {
    fn handle(&self, ask: &GetMemberOutline) -> Result<Outlined, Error> {
        get_member_outline(self, ask)
    }
}

fn get_member_outline(service: &Service, ask: &GetMemberOutline) -> Result<Outlined, Error> {
    ask.check()?;
    at_desk(service, ask.root.as_ref(), |desk| {
        let symbol = desk.one(&ask.path)?;
        if symbol.member.is_none() {
            let name = desk.name(symbol.of);
            return Err(Error::new(Code::InvalidArgument, format!("`{name}` is a type, not a member"))
                .hint(format!("loci code outline {name}"))
                .hint(format!("loci code resolve '{name}.*'")));
        }
        Ok(outlined(desk, symbol))
    })
}

fn outlined(desk: &CodeQuery<'_>, symbol: Symbol) -> Outlined {
    let outline = desk.outline_of(symbol);
    let (outline_tokens, source_tokens) = desk.tokens(symbol, &outline);
    desk.asked(symbol.of);
    Outlined {
        resolved: desk.told(symbol),
        outline_tokens,
        source_tokens,
        outline,
        coverage: desk.coverage(),
    }
}
