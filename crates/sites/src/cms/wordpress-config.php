<?php
// wp-config.php of every blog: the Host header chooses the database, the environment says where the server is.
if (!preg_match('/^\w+/', $_SERVER['HTTP_HOST'] ?? '', $name)) {
	die('no host');
}
define('DB_NAME', $name[0]);
define('DB_USER', 'root');
define('DB_PASSWORD', '');
define('DB_HOST', 'localhost:' . getenv('MARIADB_SOCKET'));
define('DB_CHARSET', 'utf8mb4');
define('WP_HOME', 'http://' . $_SERVER['HTTP_HOST']);
define('WP_SITEURL', WP_HOME);
define('DISABLE_WP_CRON', true);
define('AUTOMATIC_UPDATER_DISABLED', true);
define('WP_HTTP_BLOCK_EXTERNAL', true);
// Nobody logs in.
foreach (['AUTH', 'SECURE_AUTH', 'LOGGED_IN', 'NONCE'] as $use) {
	define($use . '_KEY', hash('sha256', $use . '_KEY'));
	define($use . '_SALT', hash('sha256', $use . '_SALT'));
}
$table_prefix = 'wp_';
if (!defined('ABSPATH')) {
	define('ABSPATH', __DIR__ . '/');
}
require_once ABSPATH . 'wp-settings.php';
