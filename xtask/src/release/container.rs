//! The definition of a container image: the static binary on an empty base, taken from the archives of this release.
//!
//! Does not know a registry, nor a builder.

use super::archives;
use super::material::{Built, Release};
use super::names;
use super::output::Output;

pub(crate) const FILE: &str = "container/Dockerfile";

/// Left out if no static binary was built.
pub(crate) fn write(release: &Release, output: &mut Output) -> Result<(), String> {
    let machine = |built: &Built| Some((built.target.container?, archives::name(release, built.target)));
    let machines: Vec<(&str, String)> = release.packaged().filter_map(machine).collect();
    if machines.is_empty() {
        println!("left out  {FILE:<28} no static binary");
        return Ok(());
    }
    output.write(FILE, dockerfile(release, &machines).as_bytes())
}

fn dockerfile(release: &Release, machines: &[(&str, String)]) -> String {
    let archives: String = machines
        .iter()
        .map(|(machine, archive)| format!("ADD {archive} /{machine}/\n"))
        .collect::<Vec<_>>()
        .concat();
    let labels = [
        ("title", names::TITLE),
        ("description", names::SUMMARY),
        ("version", &release.version),
        ("source", names::REPOSITORY),
        ("licenses", names::LICENCE),
    ];
    let labels =
        labels.map(|(key, value)| format!("org.opencontainers.image.{key}=\"{value}\"")).join(" \\\n      ");
    format!(
        "# {}.\n\
        # Build it in the folder of the archives: docker build --file {FILE} --tag loci .\n\
        # Run it: docker run --rm --volume ~/.claude:/root/.claude:ro loci search WORDS\n\
        FROM scratch AS unpacked\n{archives}\n\
        FROM scratch\n\
        LABEL {labels}\n\
        # The builder sets it.\n\
        ARG TARGETARCH\n\
        COPY --from=unpacked /${{TARGETARCH}}/loci-*/loci /usr/bin/loci\n\
        WORKDIR /tmp\nWORKDIR /root\nENV HOME=/root PATH=/usr/bin\nENTRYPOINT [\"/usr/bin/loci\"]\n",
        names::SUMMARY
    )
}
