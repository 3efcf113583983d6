<?php
// Fills a wiki: makes the pages that stand in the file, one JSON line each, and runs the jobs that they cause.
use MediaWiki\Revision\SlotRecord;

require_once getenv('MW_INSTALL_PATH') . '/maintenance/Maintenance.php';

class Fill extends Maintenance {
	public function __construct() {
		parent::__construct();
		$this->addArg('pages', 'JSON lines');
	}

	public function execute() {
		$author = User::newSystemUser('Author', ['steal' => true]);
		$pages = MediaWiki\MediaWikiServices::getInstance()->getWikiPageFactory();
		foreach (file($this->getArg(0)) as $line) {
			['title' => $title, 'text' => $text] = json_decode($line, true);
			$update = $pages->newFromTitle(Title::newFromText($title))->newPageUpdater($author);
			$update->setContent(SlotRecord::MAIN, new WikitextContent($text));
			$update->saveRevision(CommentStoreComment::newUnsavedComment(''), EDIT_SUPPRESS_RC);
			if (!$update->wasSuccessful()) {
				$this->fatalError("$title: " . $update->getStatus());
			}
		}
		$jobs = $this->runChild(RunJobs::class, getenv('MW_INSTALL_PATH') . '/maintenance/runJobs.php');
		$jobs->loadParamsAndArgs(null, ['quiet' => true], []);
		$jobs->execute();
		echo "filled\n";
	}
}

$maintClass = Fill::class;
require_once RUN_MAINTENANCE_IF_MAIN;
