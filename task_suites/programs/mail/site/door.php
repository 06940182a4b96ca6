<?php
/** Logs in whom the router let through its door, and gives names to the fields that have none. */
class door extends rcube_plugin
{
    function init()
    {
        if (isset($GLOBALS['door_user'])) {
            $this->add_hook('startup', [$this, 'startup']);
            $this->add_hook('authenticate', [$this, 'authenticate']);
        }
        $this->include_script('door.js');
    }

    function startup($args)
    {
        return ['task' => 'login', 'action' => 'login'] + $args;
    }

    function authenticate($args)
    {
        $password = trim(file_get_contents('/var/lib/deskgym-mail/secret'));
        return ['user' => $GLOBALS['door_user'], 'pass' => $password, 'cookiecheck' => false, 'valid' => true] + $args;
    }
}
