<?php
// 10 INSERT, 10 UPDATE, 10 SELECT, 5 SELECT *, 5 SELECT with LIKE, a DELETE at the end.
function random_letters(int $count): string {
    $letters = '';
    while ($count-- > 0) {
        $letters .= chr(random_int(97, 122));
    }
    return $letters;
}

$ids = [];
try {
    $database = new SQLite3(__DIR__ . '/../$DATABASE');
    $database->enableExceptions(true);
    $database->busyTimeout('$BUSY_TIMEOUT');
    $database->exec('PRAGMA synchronous = $SYNCHRONOUS');
    $in_one = '$TRANSACTION';
    if ($in_one) {
        $database->exec('BEGIN IMMEDIATE');
    }
    $database->exec('CREATE TABLE IF NOT EXISTS t(id INTEGER PRIMARY KEY, name TEXT, body TEXT)');
    $statements = 0;
    $rows = 0;
    $count_rows = function (SQLite3Result $result) use (&$rows): void {
        while ($result->fetchArray(SQLITE3_NUM) !== false) {
            $rows++;
        }
    };
    for ($i = 0; $i < 10; $i++) {
        $database->exec("INSERT INTO t(name, body) VALUES('" . random_letters(32) . "', '" . random_letters(200) . "')");
        $ids[] = $database->lastInsertRowID();
        $statements++;
    }
    foreach ($ids as $id) {
        $database->exec("UPDATE t SET body = '" . random_letters(200) . "' WHERE id = $id");
        $statements++;
    }
    foreach ($ids as $id) {
        $count_rows($database->query("SELECT name, body FROM t WHERE id = $id"));
        $statements++;
    }
    for ($i = 0; $i < 5; $i++) {
        $count_rows($database->query('SELECT * FROM t'));
        $statements++;
    }
    for ($i = 0; $i < 5; $i++) {
        $count_rows($database->query("SELECT id FROM t WHERE body LIKE '%abc%'"));
        $statements++;
    }
    $database->exec('DELETE FROM t');
    $statements++;
    if ($in_one) {
        $database->exec('COMMIT');
    }
    $database->close();
    echo "<!DOCTYPE html>\n<html><head><title>SQLite</title></head><body>$statements statements, $rows rows</body></html>\n";
} catch (Throwable $error) {
    // A byte for each row that it leaves to the next page's DELETE.
    @file_put_contents(__DIR__ . '/../$LEFT', str_repeat('.', count($ids)), FILE_APPEND);
    http_response_code(500);
    echo $error->getMessage(), "\n";
}
