import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { metaOf } from "@millrace/engine/http/protocol/session/thread-record";
import { eventTime } from "@millrace/engine/runs/events/log";

const placeNow = (): number => metaOf("a-thread").applied_through_seq;

describe("the clock of events", () => {
  it("is not moved by commands, however many are answered while nothing is emitted", () => {
    const place = placeNow();
    const places = Array.from({ length: 5000 }, placeNow);
    expect(new Set(places)).toEqual(new Set([place]));
  });

  it("gives places that come after all that was emitted, and before all that is emitted from then on", () => {
    const deed = fc.constantFrom("emit" as const, "begin" as const, "answer" as const);
    fc.assert(
      fc.property(fc.array(deed, { maxLength: 40 }), (deeds) => {
        let latest = 0;
        let place = 0;
        for (const one of deeds) {
          if (one === "answer") {
            place = placeNow();
            expect(place).toBeGreaterThanOrEqual(latest * 1000);
            continue;
          }
          const time = eventTime(one === "emit" ? "among others" : "apart");
          if (one === "begin") expect(time).toBeGreaterThan(latest);
          // The end of a run has the last place before its millisecond, and no command has named that one.
          if (one === "begin") expect(time * 1000 - 1).toBeGreaterThan(place);
          expect(time * 1000).toBeGreaterThan(place);
          latest = time;
        }
      }),
    );
  });
});
