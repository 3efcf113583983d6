//! What the kernel says of processes and those that they started (proc(5)). Elsewhere than on Linux there are none.

/// The numbers of all processes that a process started and that were not left to another parent, theirs too.
pub fn descendants(process: u32) -> Vec<u32> {
    let mut all = vec![process];
    let mut at = 0;
    while let Some(parent) = all.get(at) {
        let tasks = std::fs::read_dir(format!("/proc/{parent}/task")).into_iter().flatten().flatten();
        let lists = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
        let children: Vec<u32> =
            lists.flat_map(|list| list.split(' ').filter_map(|word| word.parse().ok()).collect::<Vec<_>>()).collect();
        all.extend(children);
        at += 1;
    }
    all.split_off(1)
}
