import type { ReactNode } from "react";

/** The name of a row as a link to its page, for another tab; a plain click does what one on the row does. */
export const RowLink = ({ href, children }: { href: string; children: ReactNode }) => (
  <a className="row-link" href={href} tabIndex={-1}>
    {children}
  </a>
);
