/**
 * The viewer's page (rules/viewer#viewer-page). Everything it needs is next to it: `viewer.js`, and the socket it is
 * given.
 */
export const VIEWER_PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Flotilla viewer</title>
    <link rel="icon" href="data:,">
    <style>
      :root { color-scheme: dark; font: 14px/1.4 system-ui, sans-serif; }
      * { box-sizing: border-box; }
      html, body { height: 100%; margin: 0; background: #16181d; color: #d6d9e0; }
      body { display: flex; flex-direction: column; overflow: hidden; }
      #screen { flex: 1; min-height: 0; position: relative; }
      #note { position: absolute; inset: 0; display: grid; place-items: center; padding: 2rem; text-align: center;
              pointer-events: none; color: #a9afbb; font-size: 1rem; }
      footer { display: flex; align-items: center; gap: .75rem; min-height: 2rem; padding: .125rem .75rem;
               background: #1f2229; border-top: 1px solid #2c3038; font-size: .8125rem; }
      #status { flex: 1; min-width: 0; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
      #status::before { content: ""; display: inline-block; width: .5rem; height: .5rem; margin-right: .5rem;
                        border-radius: 50%; background: #6b7280; }
      body[data-state="connected"] #status::before { background: #4ade80; }
      body[data-state="connecting"] #status::before, body[data-state="waiting"] #status::before { background: #fbbf24; }
      body[data-state="ended"] #status::before { background: #f87171; }
      button { font: inherit; color: inherit; background: #2c3038; border: 1px solid #3a3f4a; border-radius: .375rem;
               padding: .125rem .625rem; cursor: pointer; }
      button:hover { background: #363b46; }
      button:focus-visible, textarea:focus-visible { outline: 2px solid #60a5fa; outline-offset: 1px; }
      #paste-box { position: absolute; right: .75rem; bottom: .75rem; width: min(24rem, calc(100% - 1.5rem)); padding: .75rem;
                   display: grid; gap: .5rem; background: #1f2229; border: 1px solid #3a3f4a; border-radius: .5rem;
                   box-shadow: 0 .5rem 1.5rem #0008; z-index: 2; }
      #paste-box textarea { width: 100%; height: 6rem; resize: vertical; font: inherit; color: inherit;
                            background: #16181d; border: 1px solid #3a3f4a; border-radius: .375rem; padding: .5rem; }
      #paste-box div { display: flex; justify-content: flex-end; gap: .5rem; }
      [hidden] { display: none !important; }
    </style>
  </head>
  <body data-state="idle">
    <main id="screen" aria-label="Screen of the session">
      <p id="note" aria-hidden="true"></p>
      <form id="paste-box" hidden>
        <label for="paste-text">Text for the session's clipboard</label>
        <textarea id="paste-text" spellcheck="false"></textarea>
        <div>
          <button type="button" id="paste-close">Close</button>
          <button type="submit" name="send">Copy</button>
          <button type="submit" name="paste" value="1">Copy and paste</button>
        </div>
      </form>
    </main>
    <footer>
      <span id="status" role="status">Not connected</span>
      <button id="paste" type="button" hidden aria-expanded="false" aria-controls="paste-box">Clipboard</button>
      <button id="connect" type="button" hidden>Connect</button>
    </footer>
    <script type="module" src="viewer.js"></script>
  </body>
</html>
`;
