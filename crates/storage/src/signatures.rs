//! Marks that filesystems, partition tables, RAID, volume managers and swap leave on a device, as a table. Pure but for reads.
//!
//! Offsets and bytes are those of the kernel's headers named at each group; blkid(8) looks for the same ones.

use std::io;
use std::os::unix::fs::FileExt;

/// Where a mark lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Bytes from the start.
    Start(u64),
    /// Bytes before the end.
    End(u64),
    /// mdraid 0.90: the last whole 64 KiB block before the end (include/uapi/linux/raid/md_p.h, `MD_NEW_SIZE_SECTORS`).
    MdOld,
    /// mdraid 1.0: 8 KiB before the end, down to 4 KiB (drivers/md/md.c, `super_1_load`).
    MdEnd,
    /// An allocation group of XFS, of so many that the device is divided into, and which of them (mkfs/xfs_mkfs.c,
    /// `calc_default_ag_geometry`: groups of whole 4 KiB blocks, rounded up).
    XfsGroup(u64, u64),
    /// NILFS2's second superblock (include/uapi/linux/nilfs2_ondisk.h, `NILFS_SB2_OFFSET_BYTES`), and bytes into it.
    NilfsCopy(u64),
}

/// A mark.
struct Signature {
    name: &'static str,
    place: Place,
    bytes: &'static [u8],
}

const fn at(name: &'static str, offset: u64, bytes: &'static [u8]) -> Signature {
    Signature { name, place: Place::Start(offset), bytes }
}

const fn before_end(name: &'static str, offset: u64, bytes: &'static [u8]) -> Signature {
    Signature { name, place: Place::End(offset), bytes }
}

/// `MD_SB_MAGIC` 0xa92b4efc, little-endian.
const MD: &[u8] = &[0xfc, 0x4e, 0x2b, 0xa9];
const LUKS_COPY: &[u8] = b"SKUL\xba\xbe";
const SWAP: [&[u8]; 2] = [b"SWAPSPACE2", b"SWAP-SPACE"];

const fn xfs_group(of: u64, group: u64) -> Signature {
    Signature { name: "a copy of an xfs superblock", place: Place::XfsGroup(of, group), bytes: b"XFSB" }
}

const EXT_COPY: &str = "a copy of an ext2, ext3 or ext4 superblock";
const EXT_MAGIC: &[u8] = &[0x53, 0xef];

const SIGNATURES: &[Signature] = &[
    // Filesystems: include/uapi/linux/magic.h and each one's superblock.
    at("an ext2, ext3 or ext4 filesystem or journal", 0x438, &[0x53, 0xef]),
    at("an xfs filesystem", 0, b"XFSB"),
    at("an xfs log", 0, &[0xfe, 0xed, 0xba, 0xbe]),
    at("a btrfs filesystem", 0x1_0040, b"_BHRfS_M"),
    at("an f2fs filesystem", 0x400, &[0x10, 0x20, 0xf5, 0xf2]),
    at("a nilfs2 filesystem", 0x406, &[0x34, 0x34]),
    at("a jfs filesystem", 0x8000, b"JFS1"),
    at("a reiserfs filesystem", 0x1_0034, b"ReIsEr"),
    at("a reiserfs filesystem", 0x2034, b"ReIsEr"),
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
    at("a minix filesystem", 0x410, &[0x8f, 0x13]),
    at("a minix filesystem", 0x410, &[0x78, 0x24]),
    // Copies, which outlive a damaged first superblock. ext has them at the groups 1, 3, 5 … of 8 blocks a byte of a block, of
    // 1, 2 and 4 KiB, and of the first kind from block 1 on; the magic is 56 bytes into it (fs/ext4/ext4.h).
    at(EXT_COPY, (8192 + 1) * 1024 + 56, EXT_MAGIC),
    at(EXT_COPY, (3 * 8192 + 1) * 1024 + 56, EXT_MAGIC),
    at(EXT_COPY, 16384 * 2048 + 56, EXT_MAGIC),
    at(EXT_COPY, 3 * 16384 * 2048 + 56, EXT_MAGIC),
    at(EXT_COPY, 32768 * 4096 + 56, EXT_MAGIC),
    at(EXT_COPY, 3 * 32768 * 4096 + 56, EXT_MAGIC),
    at(EXT_COPY, 5 * 32768 * 4096 + 56, EXT_MAGIC),
    xfs_group(2, 1),
    xfs_group(4, 1),
    xfs_group(4, 2),
    xfs_group(4, 3),
    xfs_group(8, 1),
    xfs_group(16, 1),
    xfs_group(32, 1),
    // BTRFS_SUPER_MIRROR_SHIFT: 64 MiB and 256 GiB (fs/btrfs/disk-io.h).
    at("a copy of a btrfs superblock", (64 << 20) + 0x40, b"_BHRfS_M"),
    at("a copy of a btrfs superblock", (256 << 30) + 0x40, b"_BHRfS_M"),
    at("a copy of an f2fs superblock", 0x1400, &[0x10, 0x20, 0xf5, 0xf2]),
    at("a copy of a jfs superblock", 0xf000, b"JFS1"),
    before_end("a copy of an NTFS boot sector", 512 - 3, b"NTFS    "),
    at("a copy of an exFAT boot sector", 12 * 512 + 3, b"EXFAT   "),
    Signature { name: "a copy of a nilfs2 superblock", place: Place::NilfsCopy(6), bytes: &[0x34, 0x34] },
    // bcache and bcachefs: superblock in sector 8, magic 24 bytes into it (drivers/md/bcache, fs/bcachefs).
    at(
        "a bcache device",
        0x1018,
        &[0xc6, 0x85, 0x73, 0xf6, 0x4e, 0x1a, 0x45, 0xca, 0x82, 0x65, 0xf5, 0x7f, 0x48, 0xba, 0x6d, 0x81],
    ),
    at(
        "a bcachefs filesystem",
        0x1018,
        &[0xc6, 0x85, 0x73, 0xf6, 0x66, 0xce, 0x90, 0xa9, 0xd9, 0x6a, 0x60, 0xcf, 0x80, 0x3d, 0xf7, 0xef],
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
    Signature { name: "a member of a RAID (mdraid 1.0)", place: Place::MdEnd, bytes: MD },
    Signature { name: "a member of a RAID (mdraid 0.90)", place: Place::MdOld, bytes: MD },
    Signature { name: "a member of a RAID (mdraid 0.90)", place: Place::MdOld, bytes: &[0xa9, 0x2b, 0x4e, 0xfc] },
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

/// ZFS: four labels of 256 KiB, two at each end; in the upper half of each a ring of uberblocks a KiB apart, which begin
/// with 0x00bab10c as 64 bits in the byte order of their maker (sys/vdev_impl.h, sys/uberblock_impl.h).
const ZFS_LABEL_BYTES: u64 = 256 << 10;
const ZFS_MAGICS: [[u8; 8]; 2] = [0x00ba_b10c_u64.to_le_bytes(), 0x00ba_b10c_u64.to_be_bytes()];

/// A mark that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    /// What it belongs to: "an xfs filesystem".
    pub(crate) name: &'static str,
    /// Where it begins, bytes from the start.
    pub(crate) offset: u64,
    /// How long it is.
    pub(crate) length: usize,
}

/// All marks on a device of so many bytes.
pub(crate) fn probe(device: &impl FileExt, bytes: u64) -> io::Result<Vec<Found>> {
    let mut found = Vec::new();
    for Signature { name, place, bytes: mark } in SIGNATURES {
        let Some(offset) = place.offset(bytes) else { continue };
        if holds(device, bytes, offset, mark)? {
            found.push(Found { name, offset, length: mark.len() });
        }
    }
    found.extend(zfs(device, bytes)?);
    Ok(found)
}

impl Place {
    fn offset(self, bytes: u64) -> Option<u64> {
        match self {
            Place::Start(offset) => Some(offset),
            Place::End(before) => bytes.checked_sub(before),
            Place::MdOld => (bytes & !0xffff).checked_sub(0x1_0000),
            Place::XfsGroup(of, group) => Some((bytes / 4096).div_ceil(of) * group * 4096),
            Place::NilfsCopy(into) => ((bytes >> 12).checked_sub(1)).map(|block| (block << 12) + into),
            Place::MdEnd => bytes.checked_sub(0x2000).map(|offset| offset & !0xfff),
        }
    }
}

fn holds(device: &impl FileExt, bytes: u64, offset: u64, mark: &[u8]) -> io::Result<bool> {
    if offset + mark.len() as u64 > bytes {
        return Ok(false);
    }
    let mut there = vec![0; mark.len()];
    device.read_exact_at(&mut there, offset)?;
    Ok(there == mark)
}

fn zfs(device: &impl FileExt, bytes: u64) -> io::Result<Vec<Found>> {
    let aligned = bytes & !(ZFS_LABEL_BYTES - 1);
    let mut found = Vec::new();
    let labels = [
        Some(0),
        Some(ZFS_LABEL_BYTES),
        aligned.checked_sub(2 * ZFS_LABEL_BYTES),
        aligned.checked_sub(ZFS_LABEL_BYTES),
    ];
    for label in labels.into_iter().flatten().filter(|label| label + ZFS_LABEL_BYTES <= bytes) {
        let start = label + ZFS_LABEL_BYTES / 2;
        let mut ring = vec![0; (ZFS_LABEL_BYTES / 2) as usize];
        device.read_exact_at(&mut ring, start)?;
        let slots = ring.chunks_exact(1024).enumerate();
        for (slot, _) in slots.filter(|(_, block)| ZFS_MAGICS.iter().any(|magic| block.starts_with(magic))) {
            found.push(Found { name: "a member of a ZFS pool", offset: start + slot as u64 * 1024, length: 8 });
        }
    }
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
        for Signature { name, place, bytes } in SIGNATURES {
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

    #[test]
    fn one_uberblock_is_enough() {
        for offset in [(128 << 10) + 5 * 1024, BYTES - (128 << 10)] {
            let file = image(&[(offset, &ZFS_MAGICS[1])]);
            assert_eq!(probe(&file, BYTES).expect("readable")[0].offset, offset);
        }
    }
}
