<?php
// Installs a blog and makes the articles that stand in the file, one JSON line each. Arguments: wp-load.php, the file.
mysqli_query(mysqli_connect('localhost', 'root', '', '', 0, getenv('MARIADB_SOCKET')),
	'CREATE DATABASE ' . strtok($_SERVER['HTTP_HOST'], '.') . ' CHARACTER SET utf8mb4');

// In place of WordPress's own, which sends an e-mail.
function wp_new_blog_notification() {
}

define('WP_INSTALLING', true);
require $argv[1];
require ABSPATH . 'wp-admin/includes/upgrade.php';
add_filter('pre_http_request', fn() => new WP_Error('offline'));
wp_install(DB_NAME, 'administrator', 'administrator@example.com', true);
array_map(fn($sample) => wp_delete_post($sample, true), [1, 2, 3]);
update_option('show_avatars', 0);

wp_defer_term_counting(true);
wp_defer_comment_counting(true);
foreach (file($argv[2]) as $line) {
	$article = json_decode($line, true);
	$date = gmdate('Y-m-d H:i:s', $article['time']);
	$category = wp_create_category($article['category']);
	$id = wp_insert_post(wp_slash([
		'import_id' => $article['id'],
		'post_title' => $article['title'],
		'post_content' => $article['text'],
		'post_date' => $date,
		'post_status' => 'publish',
		'post_author' => 1,
		'post_category' => [$category],
	]), true);
	if ($id !== $article['id']) {
		die('no post: ' . (is_wp_error($id) ? $id->get_error_message() : $id));
	}
	foreach ($article['comments'] as $comment) {
		wp_insert_comment([
			'comment_post_ID' => $id,
			'comment_author' => 'Reader',
			'comment_content' => $comment,
			'comment_date' => $date,
			'comment_approved' => 1,
		]);
	}
}
wp_defer_comment_counting(false);
wp_defer_term_counting(false);
echo "filled\n";
