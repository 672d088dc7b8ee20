import type { ReactNode } from "react";
import { addressParts } from "../lib/address.ts";

/** Host with port, then the path, as they were written: two servers of one machine are two sites. */
function Address({ url }: { url: string }) {
  const { host, rest } = addressParts(url);
  return (
    <span className="clip" title={url}>
      {host && <span className="job-host">{host}</span>}
      {rest}
    </span>
  );
}

interface PageNameProps {
  title: string;
  url: string;
  /** Before the title. */
  icon?: ReactNode;
  /** Below the address, where there is no title. */
  said?: string;
}

/** What a person would call a page: its title above its address; without a title what is known of it. */
export function PageName({ title, url, icon, said = "" }: PageNameProps) {
  if (title === "")
    return (
      <span className="job-target">
        <Address url={url} />
        {said && (
          <span className="clip" title={said}>
            {said}
          </span>
        )}
      </span>
    );
  return (
    <span className="job-target">
      <span className="clip job-title" title={title}>
        {icon}
        {title}
      </span>
      <Address url={url} />
    </span>
  );
}
