//! Recognises network file systems, on which locks may not work between machines: `SQLite` databases can get damaged there.
//!
//! Does not mount or measure anything, and does not know which databases there are.

use std::path::Path;

/// Magic numbers of `statfs(2)` that denote a network file system. FUSE hides what is behind it.
const NETWORK: &[(i64, &str)] = &[
    (0x6969, "NFS"),
    (0x517b, "SMB"),
    (0xff53_4d42, "CIFS"),
    (0xfe53_4d42, "SMB2"),
    (0x5346_414f, "AFS"),
    (0x0102_1997, "9p"),
    (0x00c3_6400, "Ceph"),
    (0x7375_7245, "Coda"),
    (0x6573_5546, "FUSE"),
];

/// The name of the network file system that a folder is on. None: it is local, or cannot be determined.
pub(crate) fn network_file_system(folder: &Path) -> Option<&'static str> {
    find_network_name(folder, os::files::file_system_type)
}

/// Looks at the folder, or at the nearest one above it that exists.
fn find_network_name(folder: &Path, type_of: impl Fn(&Path) -> Option<i64>) -> Option<&'static str> {
    let found = folder.ancestors().find_map(type_of)?;
    // The kernel's type is 32 bits wide and may be sign-extended.
    NETWORK.iter().find(|(magic, _)| *magic == found & 0xffff_ffff).map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn network_file_systems_are_recognised_by_their_type() {
        for (found, name) in [
            (0x6969, Some("NFS")),
            (0xff53_4d42, Some("CIFS")),
            (i64::from(0xff53_4d42_u32 as i32), Some("CIFS")),
            (0x5346_414f, Some("AFS")),
            (0x6573_5546, Some("FUSE")),
            (0xef53, None),
            (0x0102_1994, None),
            (0x9123_683e, None),
        ] {
            assert_eq!(find_network_name(Path::new("/x"), |_| Some(found)), name, "{found:x}");
        }
    }

    #[test]
    fn a_folder_that_does_not_exist_yet_is_on_the_file_system_above_it() {
        let type_of = |path: &Path| (path == Path::new("/mnt")).then_some(0x6969);
        assert_eq!(find_network_name(Path::new("/mnt/home/.local/share/loci"), type_of), Some("NFS"));
        assert_eq!(find_network_name(Path::new("/srv"), type_of), None);
    }
}
