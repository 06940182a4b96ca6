// The client's place for a site's own script: nobody is asked whether notifications may be shown.
Notification.requestPermission = () => Promise.resolve("denied");
