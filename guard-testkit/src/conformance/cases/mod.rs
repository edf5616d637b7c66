//! The table of guarantees; each case is a function of the module that its line names.

mod batch;
mod content;
mod create;
mod errors;
mod links;
mod list;
mod names;
mod races;
mod read;
mod remove;
mod replace;

use super::Case;

macro_rules! cases {
    ($($module:ident :: $name:ident => $guarantee:literal,)*) => {
        /// Every guarantee, in the order in which [`super::run`] takes them.
        pub static CASES: &[Case] = &[$(Case {
            name: stringify!($name),
            guarantee: $guarantee,
            run: |site| Box::pin($module::$name(site)),
        }),*];
    };
}

cases! {
    create::created_bytes_are_exact => "A created file has exactly the given bytes, of 0 bytes, 97 KiB or 2 MiB.",
    create::absent_refuses_whatever_is_there => "The precondition `absent` refuses each kind of existing thing, links by their own name, and changes nothing.",
    create::parents_are_made_and_reported => "Missing parents are made where that is asked for, and reported outermost first; else they are an error.",
    create::a_parent_that_is_no_directory_is_an_error => "A file, FIFO or dangling link as a parent is an error, and nothing is made in its place.",
    create::modes_are_those_asked_for => "A new file has exactly the mode that is set, and is executable where that is asked for.",
    create::directories_are_made_under_absence => "A directory is made where nothing is, and refused where anything is.",
    replace::a_replacement_is_exact_and_keeps_the_mode => "A file is replaced under the digest of its bytes; its mode stays, and the report tells before and after.",
    replace::other_bytes_are_refused => "The precondition `content` refuses other bytes, absence, directories, FIFOs, and links even to identical bytes.",
    replace::identical_bytes_are_not_replaced => "Identical bytes are verified and not replaced: the inode and its other names stay.",
    replace::other_names_keep_the_old_bytes => "A replaced file's other names keep the old bytes, and the report counts them.",
    replace::displaced_bytes_come_back_where_asked_for => "Displaced bytes come back with the report where they were asked for, up to the limit, of replacements and removals alone.",
    replace::danger_any_keeps_what_it_displaces => "`danger-any` replaces any regular file, keeps its bytes under a reported name, and refuses everything else.",
    replace::a_read_only_file_is_refused => "A file that its mode forbids to write is refused, though a rename could replace it.",
    replace::a_tier_that_is_required_is_had_or_refused => "A batch that requires the strongest tier gets it, or is refused before any effect.",
    content::a_source_that_lies_publishes_nothing => "Content whose source gives fewer, more or other bytes than announced, or fails, publishes nothing.",
    links::links_inside_are_followed => "Relative and absolute links that stay inside the root are followed, and the reply says where they led.",
    links::dot_dot_after_a_link_is_the_kernels => "`link/..` is the parent of what the link leads to.",
    links::dot_dot_out_of_a_root_in_a_root_is_in_the_outer_one => "`..` at the top of a root that is in another one leads into that, if it is reached.",
    links::a_link_to_the_roots_other_spelling_is_inside => "An absolute link that spells the root as it was opened, through a link, leads inside.",
    links::escapes_are_refused_for_every_request => "Links, `..` and absolute paths that lead outside are refused, also where the rest would come back, and where a string prefix would match.",
    links::a_link_enters_only_the_roots_that_are_reached => "A link leads into no root that the request does not reach, whatever is there.",
    links::a_path_leads_only_to_what_it_is_held_to => "A path leads through and to nothing but the directories that the request is held to, whatever is there.",
    links::another_place_than_expected_is_told_and_left_alone => "A path that leads elsewhere than demanded is reported with where it leads and what is there, and nothing is made.",
    links::a_place_behind_a_link_is_changed_where_it_was_expected => "A path through a link acts where it leads, if that was demanded, and the link stays.",
    links::dangling_links_are_told_as_themselves => "A dangling link is reported as the link, at its own path.",
    links::nothing_is_created_through_a_dangling_link => "Nothing is ever created through a dangling link, final or on the way.",
    links::loops_are_an_error => "A loop of links is an error, never an absence, and never replaced.",
    batch::a_batch_makes_every_change => "A batch of creations, replacements, removals, moves and directories makes every change.",
    batch::a_batch_is_all_or_nothing => "A batch of which one change fails, whichever and wherever, changes nothing; made parents are taken back.",
    batch::one_path_twice_is_refused => "Two changes of one resolved path are refused, both ends of a move counted, however they are spelt.",
    batch::hundreds_of_changes_fit_a_batch => "A batch of 300 files is made, and reported in order.",
    remove::a_removal_is_under_its_precondition => "A file is removed under the digest of its bytes, and refused under another, or if it is no regular file.",
    remove::links_are_removed_as_themselves => "A link is removed under its own text, and what it leads to stays.",
    remove::only_empty_directories_are_removed => "A directory is removed if it is empty; one that is not, or anything else, is refused.",
    remove::a_directory_goes_with_what_leaves_it => "A directory is removed in the batch that moves, removes and takes away what is in it, however deep; a file more in it, and nothing is done.",
    remove::a_move_keeps_bytes_and_mode => "A move keeps bytes and mode, makes parents, and reports what was moved.",
    remove::a_move_is_under_its_precondition => "A move is refused if the source is not what was demanded: other bytes, absent, or no regular file.",
    remove::a_moves_destination_has_to_be_absent => "A move never replaces anything, not even an empty directory or a dangling link.",
    remove::links_are_moved_as_themselves => "A link is moved with its text, and what it leads to stays.",
    read::whole_reads_deliver_all_bytes_and_their_digest => "A whole read delivers every byte, and the digest of exactly those.",
    read::windows_carry_the_digest_of_the_whole => "A window delivers its bytes, fewer where the file ends, with the digest of the whole file.",
    read::what_is_too_large_delivers_no_byte => "A file over the limit delivers no byte, and its digest only within the limit for digests.",
    read::what_is_not_regular_is_told_and_never_opened => "A directory, FIFO, socket or absence is reported by its state, without a byte and without hanging.",
    read::a_read_is_of_now => "Every read is of the bytes that are there now.",
    read::states_are_what_is_there => "A stat tells kind, length, mode, number of names and, where asked for, the digest.",
    read::an_absent_name_has_a_path => "An absent name is resolved with its missing parents.",
    read::many_questions_are_answered_in_order => "Many questions in one request are answered in order, errors among them.",
    read::streams_deliver_all_bytes => "A stream delivers every byte of a large file, and refuses what is no regular file.",
    read::a_sinks_error_ends_the_stream => "A sink's error ends the stream and is what the caller gets.",
    list::names_are_sorted_by_bytes_and_paged => "A listing has every name once, sorted by bytes, in pages of any size.",
    list::entries_are_what_lstat_says => "Entries carry kind and attributes by lstat, and no digest.",
    list::names_that_are_not_utf8_are_listed => "Names that are not UTF-8 are listed escaped and marked as not addressable.",
    list::what_is_no_directory_is_not_listed => "Listing anything but a directory is an error that says what it is.",
    names::hostile_names_are_only_names => "Newlines, quotes, leading dashes, globs, `~`, `$` and backslashes in names are bytes of names.",
    names::too_long_is_told => "A name over 255 bytes or a path over 4095 is `too long`, and not absent.",
    names::nul_is_refused => "A NUL in a path is an error, and not the end of the path.",
    errors::a_denied_parent_is_not_absence => "A permission error on a parent is an error and never absence.",
    errors::a_denied_directory_is_left_alone => "What may not be written is an error, and nothing is left there.",
    errors::an_unreadable_file_is_not_another_version => "A file that may not be read is an error where its bytes are asked for, and is never replaced.",
    errors::roots_are_directories => "An absent root, a file as a root and a root that was never opened are errors.",
    errors::one_directory_is_one_root => "A root's reply tells its physical path, whatever links it was opened through.",
    errors::a_root_that_was_replaced_is_not_used => "A root that was renamed away, or replaced by another directory, is not used any more.",
    errors::settling_is_true_or_unsupported => "A commit that was carried out settles as applied, a refused one as not applied, or settling is unsupported.",
    races::one_of_many_creations_wins => "Of many creations of one name at once exactly one goes through, and its bytes are there.",
    races::one_of_many_replacements_wins => "Of many replacements of one version at once exactly one goes through, and its bytes are at the name or under a reported one (tier exchange).",
    races::many_additions_lose_none => "Of many compare-and-swap loops on one file, each commit that went through is superseded by one that named its digest, or is at the name, or under a reported one (tier exchange).",
}
