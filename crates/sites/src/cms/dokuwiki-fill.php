<?php
// Saves the pages that stand in the file, one JSON line each, and indexes them. Arguments: DokuWiki's folder, the file.
define('DOKU_INC', $argv[1] . '/');
define('NOSESSION', true);
require DOKU_INC . 'inc/init.php';

foreach (file($argv[2]) as $line) {
	$page = json_decode($line, true);
	saveWikiText($page['id'], $page['text'], 'made');
	if (idx_addPage($page['id']) !== true) {
		die('not indexed: ' . $page['id']);
	}
}
echo "filled\n";
