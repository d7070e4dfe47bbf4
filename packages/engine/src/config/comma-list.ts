import { z } from "zod";

/** A list of the environment: its parts stand between commas, empty ones do not count. */
export const commaList = z
  .string()
  .default("")
  .transform((text) =>
    text
      .split(",")
      .map((part) => part.trim())
      .filter((part) => part !== ""),
  );
