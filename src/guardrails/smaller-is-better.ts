/** Words in names of metrics that are better when smaller. */
const costs = new Set(
  "error errors loss delay latency time duration cost price power consumption noise distortion thd ripple jitter offset drift overshoot failures failed warnings violations missing size memory".split(
    " ",
  ),
);
const chineseCosts = /误差|损耗|损失|延迟|时间|成本|功耗|噪声|失真|纹波|抖动|失调|漂移|过冲|失败|警告|违规/u;

/** Whether a smaller value is better, by the metric's name. */
export function smallerIsBetter(name: string): boolean {
  if (chineseCosts.test(name)) return true;
  const words = name.replaceAll(/([a-z])([A-Z])/gu, "$1 $2").toLowerCase();
  return words.split(/[^a-z]+/u).some((word) => costs.has(word));
}
