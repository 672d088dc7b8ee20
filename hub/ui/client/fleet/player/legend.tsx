/** What the marks on the track mean. */
export const Legend = () => (
  <span className="player-legend" aria-hidden>
    <span>
      <i data-kind="navigation" /> Page opened
    </span>
    <span>
      <i data-kind="action" /> Action
    </span>
    <span>
      <i data-kind="error" /> Error
    </span>
  </span>
);
