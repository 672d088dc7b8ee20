import { Anchor } from "@mantine/core";
import { Link } from "wouter";
import type { Watch } from "#shared/protocol/schema/watch.ts";
import { jobHref } from "../../lib/links.ts";
import { countText, timeText } from "../../lib/units.ts";
import { Fact, FactList } from "../../parts/facts.tsx";
import { Moment } from "../../parts/panel-parts.tsx";
import { scheduleText } from "./watch-words.ts";

/** What a watch captures, when, and how it goes. */
export function WatchFacts({ watch }: { watch: Watch }) {
  const { failures, failing_since, last_error, capturing } = watch;
  return (
    <FactList label="Watch">
      <Fact name="Address" copy={watch.url}>
        {watch.url}
      </Fact>
      <Fact name="Schedule">{scheduleText(watch)}</Fact>
      <Fact name="Next">
        <Moment at={watch.next_at} />
      </Fact>
      {capturing !== null && (
        <Fact name="Under way">
          <Anchor component={Link} href={jobHref(capturing)} size="sm">
            {capturing}
          </Anchor>
        </Fact>
      )}
      <Fact name="Counts as a change">{watch.compare.join(", ")}</Fact>
      <Fact name="Completed">
        {countText(watch.captures)}, of which {countText(watch.changes)} had changed
      </Fact>
      {failing_since !== null && (
        <Fact name="Failing">
          since {timeText(failing_since)}, captures in a row: {countText(failures)}
        </Fact>
      )}
      {last_error !== null && <Fact name="Last error">{last_error}</Fact>}
      <Fact name="Watch" copy={watch.watch_id}>
        {watch.watch_id}
      </Fact>
    </FactList>
  );
}
