import { IconBroadcast, IconLock, IconWorld } from "@tabler/icons-react";
import type { ReactNode } from "react";
import { usePreview } from "../../fleet/wall/previews.ts";

/** How often the picture of the one lane that somebody looks at is taken. */
const EVERY_MS = 1_000;

interface BrowserFrameProps {
  address: string;
  live: boolean;
  children: ReactNode;
}

/** A page as a window with its address. */
export function BrowserFrame({ address, live, children }: BrowserFrameProps) {
  const Icon = address.startsWith("https:") ? IconLock : IconWorld;
  return (
    <div className="first-window">
      <div className="first-address">
        <Icon size={14} aria-hidden />
        <span>{address.replace(/^https?:\/\//, "") || "about:blank"}</span>
        {live && (
          <span className="first-live">
            <IconBroadcast size={15} aria-hidden /> Live
          </span>
        )}
      </div>
      <div className="first-picture">{children}</div>
    </div>
  );
}

/** What is on the screen of a session, a new picture every second. */
export function LivePicture({ sid }: { sid: string }) {
  const [box, picture] = usePreview(sid, EVERY_MS);
  return (
    <div ref={box} className="first-still">
      {picture.state === "there" && (
        <img src={picture.url} alt="The page as the browser shows it" />
      )}
    </div>
  );
}
