<?php
// Roundcube's settings: nothing runs by itself, and a page looks the same whenever it is opened.
$home = '/var/lib/deskgym-mail';
$config['db_dsnw'] = "sqlite:///$home/mail.db?mode=0600";
$config['imap_host'] = '127.0.0.1:10143';
$config['smtp_host'] = '127.0.0.1:10025';
$config['smtp_user'] = '';
$config['smtp_pass'] = '';
$config['des_key'] = substr(trim(file_get_contents("$home/secret")), 0, 24);
$config['plugins'] = ['door'];
$config['product_name'] = 'Lindqvist Office Goods';
$config['username_domain'] = $config['mail_domain'] = 'lindqvist.example';
$config['request_path'] = $config['session_path'] = '/';
$config['session_name'] = 'mail_session';
$config['session_lifetime'] = 600;
$config['language'] = 'en_US';
$config['timezone'] = 'UTC';
$config['log_driver'] = 'stdout';
$config['temp_dir'] = "$home/episode";
$config['draft_autosave'] = 0;
$config['refresh_interval'] = 3600;
$config['prettydate'] = false;
$config['date_format'] = 'Y-m-d';
$config['enable_spellcheck'] = false;
$config['reply_mode'] = -1;  // a reply does not cite
$config['mail_pagesize'] = 100;
$config['sort_col'] = 'arrival';
$config['http_received_header'] = false;
