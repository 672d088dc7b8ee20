/** The mark of the app; `hub/ui/shell.ts` has it as the icon of the tab. */
export const Mark = () => (
  <svg className="mark" viewBox="0 0 22 22" aria-hidden="true">
    <rect width="22" height="22" rx="6" fill="var(--accent)" />
    <g fill="var(--on-accent)">
      <path d="M11.4 4.2v9.6h6.1c-.3-3.9-2.6-7.5-6.1-9.6z" />
      <path d="M9.8 7.2v6.6H5c.4-2.7 2.2-5 4.8-6.6z" opacity=".62" />
      <path d="M4.2 15.3h13.6c-.9 1.7-2.5 2.6-4.3 2.6h-5c-1.8 0-3.4-.9-4.3-2.6z" />
    </g>
  </svg>
);
