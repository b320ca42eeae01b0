//! Where a type is mentioned, line by line.
//!
//! Does not know members yet.

use super::desk::{Desk, at_desk, line_of};
use crate::Service;
use api::code::{FindUsages, Usage, Used};
use api::{Code, Error, Request};
use code::Certainty;

pub(crate) fn find_usages(service: &Service, ask: &FindUsages) -> Result<Used, Error> {
    ask.check()?;
    at_desk(service, ask.root.as_ref(), |desk| {
        let symbol = desk.one(&ask.path)?;
        if symbol.member.is_some() {
            return Err(Error::new(Code::InvalidArgument, "usages are known of types, not of members yet")
                .hint(format!("loci code usages {}", desk.name(symbol.of))));
        }
        let mut used = Used { resolved: desk.told(symbol), coverage: desk.coverage(), ..Used::default() };
        for file in 0..desk.code().files.len() as u32 {
            mentions(desk, file, symbol.of, ask.max_results, &mut used);
        }
        Ok(used)
    })
}

/// The lines of one file that mention a type.
fn mentions(desk: &Desk<'_>, file: u32, of: u32, most: u64, used: &mut Used) {
    let (source, resolver) = (&desk.code().files[file as usize], desk.resolver());
    let mut text = None;
    for reference in &source.facts.references {
        let Some(mention) = resolver.mentions(file, reference).into_iter().find(|mention| mention.to == of)
        else {
            continue;
        };
        used.total += 1;
        if used.usages.len() as u64 >= most {
            continue;
        }
        let text = text.get_or_insert_with(|| desk.text(file));
        let line = line_of(text, reference.at as usize);
        let shown = text.lines().nth(line as usize - 1).unwrap_or_default().trim().to_string();
        let within = reference.owner.map(|part| source.facts.types[part as usize].name.clone());
        let certainty = if mention.certainty == Certainty::Certain { "certain" } else { "likely" };
        used.usages.push(Usage {
            file: source.path.clone(),
            line,
            // Masked before it is cut: half a secret is not known as one.
            text: desk.veiled(shown).chars().take(200).collect(),
            within,
            certainty: certainty.to_string(),
        });
    }
}
