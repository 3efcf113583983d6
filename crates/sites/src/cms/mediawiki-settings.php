<?php
// LocalSettings.php of every wiki: the Host header chooses the database, the environment says where the server is.
if (!preg_match('/^\w+/', $_SERVER['HTTP_HOST'] ?? '', $name)) {
	die('no host');
}
$wgSitename = $name[0];
$wgServer = 'http://' . $_SERVER['HTTP_HOST'];
$wgScriptPath = '';
$wgUsePathInfo = false;
$wgArticlePath = '/index.php?title=$1';
$wgMainPageIsDomainRoot = true;
$wgDBtype = 'postgres';
$wgDBserver = dirname(getenv('POSTGRES_SOCKET'));
$wgDBport = (int) pathinfo(getenv('POSTGRES_SOCKET'), PATHINFO_EXTENSION);
$wgDBname = $name[0];
$wgDBmwschema = 'mediawiki';
$wgDBuser = 'postgres';
$wgDBpassword = '';
// As the installer chooses it.
$wgMainCacheType = function_exists('apcu_fetch') && ini_get('apc.enabled') && PHP_SAPI != 'cli' ? CACHE_ACCEL : CACHE_NONE;
// Made once by the installation: files copied elsewhere are not new messages or settings.
$wgLocalisationCacheConf['manualRecache'] = true;
$wgInvalidateCacheOnLocalSettingsChange = false;
$wgJobRunRate = 0;
$wgEnableEmail = false;
$wgPingback = false;
$wgSecretKey = hash('sha256', $name[0]);
wfLoadSkin('Vector');
$wgDefaultSkin = 'vector';
