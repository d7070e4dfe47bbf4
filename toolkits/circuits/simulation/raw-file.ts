import { AppError } from "@millrace/engine/errors/errors";

/** A series of a plot, in order of its scale. `imaginary` exists for complex values. */
export interface Vector {
  /** In lower case: `v(out)`, `i(v1)`, `time`. */
  name: string;
  kind: string;
  real: Float64Array;
  imaginary?: Float64Array;
}

/** The result of one analysis. The first vector is its scale: time, frequency, or the swept quantity. */
export interface Plot {
  title: string;
  name: string;
  points: number;
  vectors: Vector[];
}

const mark = "\nBinary:\n";

/** Parses a binary raw file of ngspice with one plot. Throws `invalid_format` for anything else. */
export function readRawFile(bytes: Uint8Array): Plot {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const end = buffer.indexOf(mark);
  if (end < 0) throw broken("it has no binary part");
  const header = buffer.subarray(0, end).toString("utf8").split("\n");
  const field = (name: string): string =>
    header
      .find((line) => line.toLowerCase().startsWith(`${name}:`))
      ?.slice(name.length + 1)
      .trim() ?? "";
  const [count, points] = [Number(field("no. variables")), Number(field("no. points"))];
  const isComplex = field("flags").includes("complex");
  const names = header
    .slice(header.findIndex((line) => line.startsWith("Variables:")) + 1)
    .map((line) => line.trim().split(/\s+/u));
  const size = isComplex ? 16 : 8;
  const start = end + mark.length;
  if (!Number.isInteger(count) || !Number.isInteger(points) || count < 1 || names.length !== count) {
    throw broken("its header does not say how much there is");
  }
  if (buffer.length - start < count * points * size) throw broken("it ends too early");
  const view = new DataView(buffer.buffer, buffer.byteOffset + start, count * points * size);
  const vectors = names.map(([, name = "", kind = ""], index) => {
    const at = (point: number): number => (point * count + index) * size;
    const real = Float64Array.from({ length: points }, (_, point) => view.getFloat64(at(point), true));
    const vector: Vector = { name: name.toLowerCase(), kind, real };
    if (isComplex && index > 0) {
      vector.imaginary = Float64Array.from({ length: points }, (_, point) => view.getFloat64(at(point) + 8, true));
    }
    return vector;
  });
  return { title: field("title"), name: field("plotname"), points, vectors };
}

function broken(why: string): AppError {
  return new AppError("invalid_format", `The simulator's result cannot be read: ${why}.`);
}
