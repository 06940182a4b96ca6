<?php
/** Roundcube as php -S serves it, with the same door as the company's other applications: /enter/TOKEN/?to=PAGE. */
$root = '/var/lib/roundcube/public_html';
$path = parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH);
if (preg_match('#^/enter/([0-9A-Za-z]+)/$#', $path, $found)) {
    $file = "/var/lib/deskgym-mail/episode/token-$found[1]";
    $name = @file_get_contents($file);
    if ($name === false || !@unlink($file)) {
        http_response_code(403);
        exit('wrong token');
    }
    $door_user = $name;
    $_POST['_url'] = ltrim(substr($_SERVER['QUERY_STRING'], strlen('to=')), '/?');
    $_GET = [];
} elseif ($path !== '/' && $path !== '/index.php') {
    $served = '#^/(skins|plugins|program)/[\w./-]+\.(js|css|png|svg|gif|jpg|ico|woff2?|html)$#';
    if (preg_match($served, $path) && strpos($path, '..') === false && is_file($root . $path)) {
        return false;  // a file
    }
    http_response_code(404);
    exit('not found');
}
chdir($root);
require "$root/index.php";
