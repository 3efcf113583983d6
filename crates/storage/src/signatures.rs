//! Marks that filesystems, partition tables, RAID, volume managers and swap leave on a device. Those of the filesystems that can
//! be made are in `filesystems/`, those of all others are a table here. Pure but for reads.
//!
//! Offsets and bytes are those of the kernel's headers named at each group; blkid(8) looks for the same ones.

use crate::filesystems;
use crate::signature::{Found, Signature, at, before_end, by_rule};
use std::io;
use std::os::unix::fs::FileExt;

/// `MD_SB_MAGIC` 0xa92b4efc, little-endian.
const MD: &[u8] = &[0xfc, 0x4e, 0x2b, 0xa9];
const LUKS_COPY: &[u8] = b"SKUL\xba\xbe";
const SWAP: [&[u8]; 2] = [b"SWAPSPACE2", b"SWAP-SPACE"];

const SIGNATURES: &[Signature] = &[
    // Filesystems: include/uapi/linux/magic.h and each one's superblock.
    at("a reiser4 filesystem", 0x1_0000, b"ReIsEr4"),
    at("a gfs2 filesystem", 0x1_0000, &[0x01, 0x16, 0x19, 0x70]),
    at("an ocfs2 filesystem", 0x2000, b"OCFSV2"),
    at("an erofs filesystem", 0x400, &[0xe2, 0xe1, 0xf5, 0xe0]),
    at("a squashfs filesystem", 0, b"hsqs"),
    at("an NTFS filesystem", 3, b"NTFS    "),
    at("an exFAT filesystem", 3, b"EXFAT   "),
    at("a BitLocker volume", 3, b"-FVE-FS-"),
    at("an APFS container", 0x20, b"NXSB"),
    at("an HFS+ filesystem", 0x400, b"H+"),
    at("an HFS+ filesystem", 0x400, b"HX"),
    at("an ISO 9660 filesystem", 0x8001, b"CD001"),
    at("a UDF filesystem", 0x8001, b"BEA01"),
    // Copies, which outlive a damaged first superblock.
    before_end("a copy of an NTFS boot sector", 512 - 3, b"NTFS    "),
    at("a copy of an exFAT boot sector", 12 * 512 + 3, b"EXFAT   "),
    // bcache: superblock in sector 8, magic 24 bytes into it (drivers/md/bcache).
    at(
        "a bcache device",
        0x1018,
        &[0xc6, 0x85, 0x73, 0xf6, 0x4e, 0x1a, 0x45, 0xca, 0x82, 0x65, 0xf5, 0x7f, 0x48, 0xba, 0x6d, 0x81],
    ),
    // Partition tables: UEFI specification 5.3.2 for GPT (512-byte and 4-KiB blocks, and the copy at the end).
    at("a partition table or boot sector", 510, &[0x55, 0xaa]),
    at("a GPT partition table", 512, b"EFI PART"),
    at("a GPT partition table", 4096, b"EFI PART"),
    before_end("a GPT partition table (its copy)", 512, b"EFI PART"),
    before_end("a GPT partition table (its copy)", 4096, b"EFI PART"),
    at("an Apple partition map", 512, b"PM\0\0"),
    // RAID.
    at("a member of a RAID (mdraid 1.1)", 0, MD),
    at("a member of a RAID (mdraid 1.2)", 0x1000, MD),
    // 8 KiB before the end, down to 4 KiB (drivers/md/md.c, `super_1_load`).
    by_rule("a member of a RAID (mdraid 1.0)", |bytes| bytes.checked_sub(0x2000).map(|at| at & !0xfff), MD),
    by_rule("a member of a RAID (mdraid 0.90)", md_old, MD),
    by_rule("a member of a RAID (mdraid 0.90)", md_old, &[0xa9, 0x2b, 0x4e, 0xfc]),
    before_end("a member of a RAID (Intel)", 1024, b"Intel Raid ISM Cfg Sig."),
    before_end("a member of a RAID (DDF)", 512, &[0xde, 0x11, 0xde, 0x11]),
    // Volume managers and encryption: LVM2's label is in one of the first four sectors.
    at("an LVM physical volume", 0, b"LABELONE"),
    at("an LVM physical volume", 512, b"LABELONE"),
    at("an LVM physical volume", 1024, b"LABELONE"),
    at("an LVM physical volume", 1536, b"LABELONE"),
    at("a LUKS volume", 0, b"LUKS\xba\xbe"),
    // LUKS2's second header is where the first one's area ends (LUKS2 On-Disk Format, 2.1).
    at("a LUKS volume (its second header)", 0x4000, LUKS_COPY),
    at("a LUKS volume (its second header)", 0x8000, LUKS_COPY),
    at("a LUKS volume (its second header)", 0x1_0000, LUKS_COPY),
    at("a LUKS volume (its second header)", 0x2_0000, LUKS_COPY),
    at("a LUKS volume (its second header)", 0x4_0000, LUKS_COPY),
    at("a LUKS volume (its second header)", 0x8_0000, LUKS_COPY),
    at("a LUKS volume (its second header)", 0x10_0000, LUKS_COPY),
    at("a LUKS volume (its second header)", 0x20_0000, LUKS_COPY),
    at("a LUKS volume (its second header)", 0x40_0000, LUKS_COPY),
    at("a Stratis pool", 512 + 4, b"!Stra0tis\x86\xff\x02^\x41rh"),
    at("a VDO volume", 0, b"dmvdo001"),
    at("a Ceph store", 0, b"bluestore block device\n"),
    at("a VMFS filesystem", 0x10_0000, &[0x0d, 0xd0, 0x01, 0xc0]),
    // Swap: at the end of the first page, whose size depends on the machine that made it (mkswap(8)).
    at("swap", 0x1000 - 10, SWAP[0]),
    at("swap", 0x1000 - 10, SWAP[1]),
    at("swap", 0x2000 - 10, SWAP[0]),
    at("swap", 0x4000 - 10, SWAP[0]),
    at("swap", 0x1_0000 - 10, SWAP[0]),
    at("a hibernated system", 0x1000 - 10, b"S1SUSPEND"),
];

/// mdraid 0.90: the last whole 64 KiB block before the end (include/uapi/linux/raid/md_p.h, `MD_NEW_SIZE_SECTORS`).
fn md_old(bytes: u64) -> Option<u64> {
    (bytes & !0xffff).checked_sub(0x1_0000)
}

fn all() -> impl Iterator<Item = &'static Signature> {
    filesystems::signatures().chain(SIGNATURES)
}

/// All marks on a device of so many bytes.
pub(crate) fn probe(device: &impl FileExt, bytes: u64) -> io::Result<Vec<Found>> {
    let found: io::Result<Vec<Option<Found>>> = all().map(|signature| signature.find(device, bytes)).collect();
    let mut found: Vec<Found> = found?.into_iter().flatten().collect();
    found.extend(filesystems::uberblocks(device, bytes)?);
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    const BYTES: u64 = 5 << 20;

    fn image(marks: &[(u64, &[u8])]) -> File {
        let file = tempfile::tempfile().expect("a file");
        file.set_len(BYTES).expect("sized");
        for (offset, mark) in marks {
            file.write_all_at(mark, *offset).expect("written");
        }
        file
    }

    #[test]
    fn nothing_is_found_on_nothing() {
        assert_eq!(probe(&image(&[]), BYTES).expect("readable"), []);
        for bytes in [0, 1, 511, 4096, 65536, 300_000] {
            assert_eq!(probe(&image(&[]), bytes).expect("readable"), [], "{bytes}");
        }
    }

    #[test]
    fn every_mark_is_found_where_it_lies() {
        for Signature { name, place, bytes } in all() {
            // Sparse, so that the copies far behind fit, too.
            let all = if place.offset(BYTES).is_some_and(|offset| offset < BYTES - 64) { BYTES } else { 300 << 30 };
            let offset = place.offset(all).expect("it fits");
            let file = image(&[(offset, bytes)]);
            file.set_len(all).expect("sized");
            let found = probe(&file, all).expect("readable");
            assert!(found.iter().any(|found| found.name == *name && found.offset == offset), "{name} at {offset:#x}");
        }
    }

    #[test]
    fn raid_at_the_end_is_found_by_its_rule() {
        // As mdadm(8) puts them on a device of 5 MiB + 512 bytes.
        let bytes = BYTES + 512;
        let file = image(&[(BYTES - 0x1_0000, MD)]);
        file.set_len(bytes).expect("sized");
        assert_eq!(probe(&file, bytes).expect("readable")[0].name, "a member of a RAID (mdraid 0.90)");
        let file = image(&[((bytes - 8192) & !4095, MD)]);
        file.set_len(bytes).expect("sized");
        assert_eq!(probe(&file, bytes).expect("readable")[0].name, "a member of a RAID (mdraid 1.0)");
    }
}
