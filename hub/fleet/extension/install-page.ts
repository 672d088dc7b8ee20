/** Instructions for the cookie-sync extension (rules/hosts#cookie-sync-extension). */
export const INSTALL_PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Flotilla cookie sync: install</title>
    <link rel="icon" href="data:,">
    <style>
      :root { color-scheme: light dark; font: 16px/1.55 system-ui, sans-serif; }
      body { max-width: 42rem; margin: 2rem auto; padding: 0 1rem; }
      h1 { font-size: 1.5rem; } h2 { font-size: 1.125rem; margin-top: 2rem; }
      code { background: #8882; padding: .1em .3em; border-radius: .25em; overflow-wrap: anywhere; }
      .download { display: inline-block; padding: .5rem 1rem; border: 1px solid currentColor; border-radius: .375rem;
                  text-decoration: none; }
      li { margin: .375rem 0; }
    </style>
  </head>
  <body>
    <h1>Flotilla cookie sync</h1>
    <p>Gives the cookies of your browser to this hub. Jobs to those hosts are then logged in as you are.</p>
    <p><a class="download" href="/profiles/extension.zip" download>Download the extension (zip)</a></p>
    <h2>Install it in Chromium, Chrome, Edge or Brave</h2>
    <ol>
      <li>Unpack the zip into a folder that stays where it is: the browser reads the extension from there.</li>
      <li>Open <code>chrome://extensions</code> and switch on <b>Developer mode</b>.</li>
      <li>Choose <b>Load unpacked</b> and pick the folder, the one that holds <code>manifest.json</code>.</li>
      <li>Pin it to the toolbar. The hub's address is set already; change it under <b>options</b>, together with the
        token if this hub asks for one.</li>
    </ol>
    <h2>Use it</h2>
    <ol>
      <li>Log in to a site, click the extension's button and choose <b>of the site in front</b> (the default) or
        <b>of all sites</b>, then <b>Send</b>.</li>
      <li>Submit a job to that host: it gets the cookies. A job to another host takes them with
        <code>"cookies_from": "example.org"</code>.</li>
      <li>Send again whenever the login has changed: the newest cookies win.</li>
    </ol>
    <p>Only cookies are sent. Saved passwords, local storage and IndexedDB are not: upload a browser profile for those.</p>
    <h2>Without a zip program</h2>
    <p>Here is every file by itself: <!--files-->. Put them into one folder.</p>
  </body>
</html>
`;
