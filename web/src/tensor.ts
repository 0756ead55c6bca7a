// Tensors as `studio/tensors.py` packs them: exact 32-bit numbers, or a byte each where they are many; row-major.

import type { Packed } from "./api.ts";

export interface Tensor {
  shape: number[];
  data: Float32Array;
  /** False where numbers were rounded on the way. */
  exact: boolean;
}

/** Steps of the root of a weight, as `studio/tensors.py` has it. */
const ROOTS = 95;

export async function unpack(packed: Packed): Promise<Tensor> {
  if (packed.float32 !== undefined) return unpackExact(packed);
  const stream = new Blob([decode(packed.roots!)]).stream().pipeThrough(new DecompressionStream("deflate"));
  const levels = new Uint8Array(await new Response(stream).arrayBuffer());
  return {
    shape: packed.shape,
    data: Float32Array.from(levels, (level) => (level / ROOTS) ** 2 * packed.scale!),
    exact: false,
  };
}

/** The same at once, for what is known to be exact. */
export function unpackExact(packed: Packed): Tensor {
  return { shape: packed.shape, data: new Float32Array(decode(packed.float32!)), exact: true };
}

function decode(text: string): ArrayBuffer {
  const letters = atob(text),
    bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
  return bytes.buffer;
}

/** Rows by columns, the form that the drawings take. */
export interface Matrix {
  rows: number;
  columns: number;
  data: ArrayLike<number>;
}

/** The matrix at an index of the leading axes: `slice(weights, 2, 0)` of (layers, heads, rows, columns). */
export function slice(tensor: Tensor, ...position: number[]): Matrix {
  const [rows, columns] = tensor.shape.slice(-2) as [number, number];
  let offset = 0;
  position.forEach((one, axis) => (offset = offset * tensor.shape[axis]! + one));
  const size = rows * columns;
  return { rows, columns, data: tensor.data.subarray(offset * size, (offset + 1) * size) };
}

/** A matrix from a function of row and column. */
export function build(rows: number, columns: number, value: (row: number, column: number) => number): Matrix {
  const data = new Float64Array(rows * columns);
  for (let row = 0, i = 0; row < rows; row++)
    for (let column = 0; column < columns; column++) data[i++] = value(row, column);
  return { rows, columns, data };
}

/** The mean of matrices of one shape. */
export function mean(matrices: Matrix[]): Matrix {
  const first = matrices[0]!;
  if (matrices.length === 1) return first;
  const data = new Float64Array(first.rows * first.columns);
  for (const one of matrices) for (let i = 0; i < data.length; i++) data[i]! += one.data[i]!;
  for (let i = 0; i < data.length; i++) data[i]! /= matrices.length;
  return { rows: first.rows, columns: first.columns, data };
}

export function at(matrix: Matrix, row: number, column: number): number {
  return matrix.data[row * matrix.columns + column]!;
}

export function rowOf(matrix: Matrix, row: number): number[] {
  return Array.from({ length: matrix.columns }, (_, column) => at(matrix, row, column));
}

export function total(values: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += values[i]!;
  return sum;
}

/** The largest number; 1 where none is above zero. */
export function largest(values: ArrayLike<number>): number {
  let most = 0;
  for (let i = 0; i < values.length; i++) if (values[i]! > most) most = values[i]!;
  return most || 1;
}

/** Make every row sum to one; a row of zeros stays so. */
export function normalized(matrix: Matrix): Matrix {
  const sums = Array.from({ length: matrix.rows }, (_, row) => total(rowOf(matrix, row)));
  return build(matrix.rows, matrix.columns, (row, column) => (sums[row] ? at(matrix, row, column) / sums[row]! : 0));
}

/** In nats: 0 where one position has all, log n where n positions have alike. */
export function entropy(weights: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < weights.length; i++) if (weights[i]! > 0) sum -= weights[i]! * Math.log(weights[i]!);
  return sum;
}

/** Kendall's τ-b, as `inspection/rank.py`: 1 for one order, −1 for its reverse, NaN where there is none to compare. */
export function kendall(first: number[], second: number[]): number {
  let agreement = 0,
    ones = 0,
    others = 0;
  for (let i = 0; i < first.length; i++) {
    for (let j = 0; j < i; j++) {
      const one = Math.sign(first[i]! - first[j]!),
        other = Math.sign(second[i]! - second[j]!);
      agreement += one * other;
      ones += Math.abs(one);
      others += Math.abs(other);
    }
  }
  return agreement / Math.sqrt(ones * others);
}

/** Four decimals, with a true minus; what is too small to show is written as a power. */
export function number(value: number, digits = 4): string {
  if (!Number.isFinite(value)) return value > 0 ? "∞" : value < 0 ? "−∞" : "undefined";
  if (value !== 0 && Math.abs(value) < 0.5 * 10 ** -digits) return value.toExponential(1).replaceAll("-", "−");
  return value.toFixed(digits).replaceAll("-", "−");
}
