import { Anchor } from "@mantine/core";
import type { Job } from "#shared/protocol/schema/job.ts";

export const hasFinalPicture = ({ screenshot_href, thumbnail_href }: Job): boolean =>
  (screenshot_href ?? thumbnail_href) !== null;

/** The page as it was at the end of the job: all that there is to see of one that was not recorded. */
export function FinalPicture({ job }: { job: Job }) {
  const { thumbnail_href, screenshot_href, finished_at } = job;
  const src = screenshot_href ?? thumbnail_href;
  if (src === null)
    return (
      <p className="player-none">
        {finished_at === null
          ? "There is no picture yet."
          : "There is no screenshot: nothing was recorded, and none was taken at the end."}
      </p>
    );
  return (
    <figure className="job-final">
      <div className="job-final-scroll">
        <img src={src} alt="The page at the end of the job" />
      </div>
      <figcaption>
        There is no film of this page: here it is at the end.{" "}
        {screenshot_href && (
          <Anchor
            href={screenshot_href}
            target="_blank"
            rel="noreferrer"
            size="xs"
            underline="always"
          >
            Open the whole page
          </Anchor>
        )}
      </figcaption>
    </figure>
  );
}
