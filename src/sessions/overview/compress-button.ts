import { z } from "zod";
import type { WindowUsage } from "../../context/compression/compress.ts";

/** How the button is shown that compresses a session. */
export const CompressButton = z.enum(["normal", "warning", "critical"]);
type CompressButton = z.infer<typeof CompressButton>;

/** The button of a conversation, by how full it makes the model's window. */
export const compressButtons: Readonly<Record<WindowUsage["level"], CompressButton>> = {
  normal: "normal",
  hint: "warning",
  full: "critical",
};
