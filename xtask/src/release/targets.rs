//! The targets of a release, and what each package format calls them.
//!
//! Does not know how a package is written.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Archive {
    Tar,
    Zip,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum System {
    Linux,
    MacOs,
    Windows,
}

#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) triple: &'static str,
    pub(crate) system: System,
    pub(crate) archive: Archive,
    /// `process.platform` and `process.arch` of Node.js, which are `os` and `cpu` of a package.
    pub(crate) npm: (&'static str, &'static str),
    /// The C library that the binary needs, as npm calls it; a static binary needs none.
    pub(crate) libc: Option<&'static str>,
    pub(crate) wheel: Wheel,
    pub(crate) deb: Option<&'static str>,
    pub(crate) rpm: Option<&'static str>,
    /// The architecture of a container image, as `docker build` gives it in `TARGETARCH`.
    pub(crate) container: Option<&'static str>,
}

#[derive(Debug)]
pub(crate) enum Wheel {
    Tags(&'static [&'static str]),
    /// A glibc binary: `manylinux_2_NN_` and this machine, where NN is read from the binary.
    Manylinux(&'static str),
}

impl Target {
    pub(crate) fn program(&self) -> &'static str {
        if self.system == System::Windows { "loci.exe" } else { "loci" }
    }

    /// `linux-x64`: the end of the names of npm packages and MCP bundles.
    pub(crate) fn platform(&self) -> String {
        let (os, cpu) = self.npm;
        format!("{os}-{cpu}")
    }
}

/// Of two targets for one machine, the first that was built is used for packages: a static binary runs on every Linux.
pub(crate) const TARGETS: &[Target] = &[
    Target {
        triple: "x86_64-unknown-linux-musl",
        system: System::Linux,
        archive: Archive::Tar,
        npm: ("linux", "x64"),
        libc: None,
        wheel: Wheel::Tags(&["manylinux_2_17_x86_64", "manylinux2014_x86_64", "musllinux_1_1_x86_64"]),
        deb: Some("amd64"),
        rpm: Some("x86_64"),
        container: Some("amd64"),
    },
    Target {
        triple: "x86_64-unknown-linux-gnu",
        system: System::Linux,
        archive: Archive::Tar,
        npm: ("linux", "x64"),
        libc: Some("glibc"),
        wheel: Wheel::Manylinux("x86_64"),
        deb: Some("amd64"),
        rpm: Some("x86_64"),
        container: None,
    },
    Target {
        triple: "aarch64-unknown-linux-musl",
        system: System::Linux,
        archive: Archive::Tar,
        npm: ("linux", "arm64"),
        libc: None,
        wheel: Wheel::Tags(&["manylinux_2_17_aarch64", "manylinux2014_aarch64", "musllinux_1_1_aarch64"]),
        deb: Some("arm64"),
        rpm: Some("aarch64"),
        container: Some("arm64"),
    },
    Target {
        triple: "aarch64-unknown-linux-gnu",
        system: System::Linux,
        archive: Archive::Tar,
        npm: ("linux", "arm64"),
        libc: Some("glibc"),
        wheel: Wheel::Manylinux("aarch64"),
        deb: Some("arm64"),
        rpm: Some("aarch64"),
        container: None,
    },
    Target {
        triple: "aarch64-apple-darwin",
        system: System::MacOs,
        archive: Archive::Tar,
        npm: ("darwin", "arm64"),
        libc: None,
        wheel: Wheel::Tags(&["macosx_11_0_arm64"]),
        deb: None,
        rpm: None,
        container: None,
    },
    Target {
        triple: "x86_64-apple-darwin",
        system: System::MacOs,
        archive: Archive::Tar,
        npm: ("darwin", "x64"),
        libc: None,
        wheel: Wheel::Tags(&["macosx_10_12_x86_64"]),
        deb: None,
        rpm: None,
        container: None,
    },
    Target {
        triple: "x86_64-pc-windows-msvc",
        system: System::Windows,
        archive: Archive::Zip,
        npm: ("win32", "x64"),
        libc: None,
        wheel: Wheel::Tags(&["win_amd64"]),
        deb: None,
        rpm: None,
        container: None,
    },
    Target {
        triple: "x86_64-pc-windows-gnu",
        system: System::Windows,
        archive: Archive::Zip,
        npm: ("win32", "x64"),
        libc: None,
        wheel: Wheel::Tags(&["win_amd64"]),
        deb: None,
        rpm: None,
        container: None,
    },
];

/// The targets that run on the machine this was compiled for, the one that packages prefer first.
pub(crate) fn host_targets() -> impl Iterator<Item = &'static Target> {
    let (os, cpu) = host_platform();
    TARGETS.iter().filter(move |target| target.npm == (os, cpu))
}

fn host_platform() -> (&'static str, &'static str) {
    let os = match std::env::consts::OS {
        "macos" => "darwin",
        "windows" => "win32",
        other => other,
    };
    let cpu = match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => other,
    };
    (os, cpu)
}
