<?php
// conf/local.php of every wiki: the Host header chooses the data.
preg_match('/^\w+/', $_SERVER['HTTP_HOST'] ?? '', $name);
$conf['title'] = $name[0] ?? '';
$conf['savedir'] = dirname(__DIR__, 3) . '/.data/' . $conf['title'];
$conf['useacl'] = 1;
$conf['superuser'] = '@admin';
$conf['updatecheck'] = 0;
