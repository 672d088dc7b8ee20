import { expect, test } from "bun:test";
import { isIP } from "node:net";
import fc from "fast-check";
import { ipFamily } from "#shared/kit/ip-family.ts";

test("what is an IP address is what node:net says, and what URL parsing can read", () => {
  const octets = fc.array(fc.integer({ min: 0, max: 300 }), { minLength: 3, maxLength: 5 });
  const texts = fc.oneof(
    fc.ipV4(),
    fc.ipV6(),
    fc.ipV4Extended(),
    octets.map((parts) => parts.join(".")),
    fc.stringMatching(/^[0-9a-f:.]{1,20}$/),
    fc.string(),
  );
  const read = (text: string) => isIP(text) !== 6 || URL.canParse(`http://[${text}]/`);
  fc.assert(
    fc.property(texts, (text) => {
      expect([text, ipFamily(text)]).toEqual([text, read(text) ? (isIP(text) as 0 | 4 | 6) : 0]);
    }),
    { numRuns: 5_000, examples: [["::1]/x["], ["::ffff:1.2.3.4"], ["01.1.1.1"], ["1.1.1.1 "]] },
  );
});
