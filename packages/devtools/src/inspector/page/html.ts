/** The document of the page. It has no inline script or style, so that the content security policy can forbid them. */
export const HTML: string = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Halyard wire inspector</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="page.css">
<script src="page.js" defer></script>
</head>
<body>
<header>
  <h1>Wire inspector</h1>
  <p id="status" role="status">Connecting</p>
</header>
<main>
  <section id="figures" aria-label="Figures">
    <div class="figure"><h2>Connections</h2><p id="connection-count">0</p></div>
    <div class="figure"><h2>Topics</h2><p id="topic-count">0</p></div>
    <div class="figure wide"><h2>Received per second</h2><p id="received-rate">0</p>
      <svg id="received-line" viewBox="0 0 118 28" preserveAspectRatio="none" role="img" aria-label="Received frames per second, last minute"></svg></div>
    <div class="figure wide"><h2>Sent per second</h2><p id="sent-rate">0</p>
      <svg id="sent-line" viewBox="0 0 118 28" preserveAspectRatio="none" role="img" aria-label="Sent frames per second, last minute"></svg></div>
  </section>
  <section id="frames" aria-labelledby="frames-title">
    <div class="bar">
      <h2 id="frames-title">Frames</h2>
      <label class="grow"><span class="hidden">Filter</span>
        <input id="filter" type="search" placeholder="Filter by type, topic, connection or payload" autocomplete="off" spellcheck="false"></label>
      <label><span class="hidden">Direction</span>
        <select id="direction">
          <option value="">All directions</option>
          <option value="in">Received</option>
          <option value="out">Sent</option>
          <option value="topic">Published</option>
          <option value="connection">Opened and closed</option>
        </select></label>
      <label class="check"><input id="control" type="checkbox"> Protocol frames</label>
      <button id="pause" type="button" aria-pressed="false">Pause</button>
      <button id="clear" type="button">Clear</button>
    </div>
    <p id="missed" hidden></p>
    <div class="scroll" tabindex="0" role="region" aria-label="List of frames">
      <table>
        <thead><tr><th scope="col">Time</th><th scope="col"><span class="hidden">Direction</span></th><th scope="col">Type</th><th scope="col">Connection or topic</th><th scope="col" class="number">Size</th><th scope="col">Payload</th></tr></thead>
        <tbody id="rows"></tbody>
      </table>
      <p id="empty">No frames yet. Frames appear here when a client connects.</p>
    </div>
  </section>
  <div id="tables">
    <section aria-labelledby="connections-title">
      <h2 id="connections-title">Connections</h2>
      <div class="scroll" tabindex="0" role="region" aria-label="List of connections">
        <table><thead><tr><th scope="col">Id</th><th scope="col" class="number">Open for</th><th scope="col" class="number">Received</th><th scope="col" class="number">Sent</th><th scope="col" class="number">Unsent</th><th scope="col" class="number">Topics</th></tr></thead><tbody id="connections"></tbody></table>
      </div>
    </section>
    <section aria-labelledby="topics-title">
      <h2 id="topics-title">Topics</h2>
      <div class="scroll" tabindex="0" role="region" aria-label="List of topics">
        <table><thead><tr><th scope="col">Topic</th><th scope="col" class="number">Subscribers</th></tr></thead><tbody id="topics"></tbody></table>
      </div>
    </section>
    <section aria-labelledby="types-title">
      <h2 id="types-title">Message types</h2>
      <div class="scroll" tabindex="0" role="region" aria-label="List of message types">
        <table><thead><tr><th scope="col">Type</th><th scope="col" class="number">Received</th><th scope="col" class="number">Sent</th></tr></thead><tbody id="types"></tbody></table>
      </div>
    </section>
  </div>
</main>
<dialog id="detail" aria-labelledby="detail-title">
  <div class="bar"><h2 id="detail-title" class="grow"></h2><button id="detail-close" type="button">Close</button></div>
  <dl id="detail-fields"></dl>
  <pre id="detail-payload" tabindex="0"></pre>
</dialog>
<noscript>The inspector needs JavaScript.</noscript>
</body>
</html>
`;
