import { expect, it } from "vitest";
import { filterOf, valueOf } from "../../../console/pages/store/conditions.ts";

it.each([
  ["12", 12],
  ["true", true],
  ["null", null],
  ['"12"', "12"],
  ["tea", "tea"],
  ["", ""],
])("what is written as %j is %j", (written, value) => {
  expect(valueOf(written)).toEqual(value);
});

it("says a filter as the server takes it: all of it has to be true, dots lead inwards", () => {
  expect(
    filterOf([
      { field: "size", comparison: "atLeast", value: "2" },
      { field: "size", comparison: "less", value: "5" },
      { field: "owner.name", comparison: "is", value: "ada" },
      { field: " ", comparison: "is", value: "nothing" },
    ]),
  ).toEqual({ size: { $gte: 2, $lt: 5 }, owner: { name: { $eq: "ada" } } });
  expect(filterOf([{ field: "", comparison: "is", value: "" }])).toBeUndefined();
});
