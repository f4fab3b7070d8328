import type { Call } from "./call-tree.ts";
import { requestLayers } from "./request-layers.ts";

const width = 1200;
const rowHeight = 17;
const headerHeight = 60;
const characterWidth = 6.4;
/** Functions with a smaller share of the whole would be thinner than a line. */
const smallestShare = 0.002;

/**
 * A flame graph as SVG, with the outermost function at the top. A function is as wide as its share of the processor time,
 * stands below its caller, and has the colour of its layer. Its title names its file and share.
 */
export function flameGraph(root: Call, title: string): string {
  const whole = root.totalMicroseconds;
  const boxes: string[] = [];
  let deepest = 0;
  const draw = (call: Call, { x, depth }: { readonly x: number; readonly depth: number }): void => {
    const share = call.totalMicroseconds / whole;
    if (share < smallestShare) return;
    deepest = Math.max(deepest, depth);
    boxes.push(box(call, { x, y: headerHeight + depth * rowHeight, width: share * width, share }));
    drawAll(call, { x, depth: depth + 1 });
  };
  const drawAll = (caller: Call, { x, depth }: { readonly x: number; readonly depth: number }): void => {
    let left = x;
    for (const call of [...caller.calls.values()].sort((a, b) => b.totalMicroseconds - a.totalMicroseconds)) {
      draw(call, { x: left, depth });
      left += (call.totalMicroseconds / whole) * width;
    }
  };
  drawAll(root, { x: 0, depth: 0 });
  const height = headerHeight + (deepest + 1) * rowHeight;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="monospace" font-size="11">`,
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
    `<text x="4" y="14" font-size="13">${escaped(title)}</text>`,
    ...legend(),
    ...boxes,
    "</svg>\n",
  ].join("\n");
}

function box(
  { frame: { functionName, url, lineNumber }, layer }: Call,
  { x, y, width, share }: { readonly x: number; readonly y: number; readonly width: number; readonly share: number },
): string {
  const name = functionName || "(anonymous)";
  const place = url === "" ? "" : `, ${url.replace(/^.*\/(src|node_modules)\//, "$1/")}:${lineNumber + 1}`;
  const text = name.slice(0, Math.max(0, Math.floor((width - 4) / characterWidth)));
  return [
    `<g><title>${escaped(`${name}${place}: ${(share * 100).toFixed(1)} %`)}</title>`,
    `<rect x="${x.toFixed(1)}" y="${y}" width="${width.toFixed(1)}" height="${rowHeight - 1}" fill="${requestLayers[layer].colour}" stroke="#fff" stroke-width="0.5"/>`,
    text.length < 3 ? "" : `<text x="${(x + 2).toFixed(1)}" y="${y + 12}">${escaped(text)}</text>`,
    "</g>",
  ].join("");
}

/** Two lines of coloured names. */
function legend(): string[] {
  const entries = Object.entries(requestLayers);
  const inLine = Math.ceil(entries.length / 2);
  return entries.map(([name, { colour }], index) => {
    const x = 4 + (index % inLine) * (width / inLine);
    const y = 22 + Math.floor(index / inLine) * 16;
    return `<rect x="${x}" y="${y}" width="10" height="10" fill="${colour}"/><text x="${x + 14}" y="${y + 9}" font-size="9">${escaped(name)}</text>`;
  });
}

const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
