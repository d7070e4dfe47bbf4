declare module "parse-prometheus-text-format" {
  /** What Prometheus makes of an exposition. */
  export default function parse(text: string): unknown;
}
