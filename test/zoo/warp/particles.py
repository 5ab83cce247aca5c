"""Simulation: particles, springs, finite elements, grids; each with its adjoint."""
import warp as wp


@wp.kernel
def integrate(x: wp.array(dtype=wp.vec3), v: wp.array(dtype=wp.vec3), f: wp.array(dtype=wp.vec3), w: wp.array(dtype=float), gravity: wp.vec3,
              dt: float):
    i = wp.tid()
    speed = v[i] + (f[i] * w[i] + gravity * wp.step(0.0 - w[i])) * dt
    x[i] = x[i] + speed * dt
    v[i] = speed * (1.0 - 0.1 * dt)


@wp.kernel
def springs(x: wp.array(dtype=wp.vec3), v: wp.array(dtype=wp.vec3), pairs: wp.array(dtype=int), rest: wp.array(dtype=float), stiffness: float,
            damping: float, f: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    a, b = pairs[2 * i], pairs[2 * i + 1]
    gap = x[a] - x[b]
    length = wp.length(gap)
    along = gap / length
    force = along * (stiffness * (length - rest[i]) + damping * wp.dot(along, v[a] - v[b]))
    wp.atomic_sub(f, a, force)
    wp.atomic_add(f, b, force)


@wp.kernel
def tetrahedra(x: wp.array(dtype=wp.vec3), corners: wp.array2d(dtype=int), inverse: wp.array(dtype=wp.mat33), mu: float, lam: float,
               f: wp.array(dtype=wp.vec3)):
    t = wp.tid()
    i, j, k, l = corners[t, 0], corners[t, 1], corners[t, 2], corners[t, 3]
    shape = wp.matrix_from_cols(x[j] - x[i], x[k] - x[i], x[l] - x[i])
    gradient = shape * inverse[t]
    det = wp.determinant(gradient)
    stress = gradient * mu + wp.transpose(wp.inverse(gradient)) * (lam * wp.log(wp.max(det, 0.01)) - mu)
    force = stress * wp.transpose(inverse[t])
    f1 = wp.vec3(force[0, 0], force[1, 0], force[2, 0])
    f2 = wp.vec3(force[0, 1], force[1, 1], force[2, 1])
    f3 = wp.vec3(force[0, 2], force[1, 2], force[2, 2])
    wp.atomic_sub(f, j, f1)
    wp.atomic_sub(f, k, f2)
    wp.atomic_sub(f, l, f3)
    wp.atomic_add(f, i, f1 + f2 + f3)


@wp.kernel
def polar_rotation(shapes: wp.array(dtype=wp.mat33), rotations: wp.array(dtype=wp.mat33)):
    u = wp.mat33()
    s = wp.vec3()
    v = wp.mat33()
    wp.svd3(shapes[wp.tid()], u, s, v)
    rotations[wp.tid()] = u * wp.transpose(v)


@wp.kernel
def rigid_bodies(poses: wp.array(dtype=wp.transform), spins: wp.array(dtype=wp.vec3), points: wp.array(dtype=wp.vec3), out: wp.array(dtype=wp.vec3),
                 dt: float):
    i = wp.tid()
    q = wp.transform_get_rotation(poses[i])
    p = wp.transform_get_translation(poses[i])
    turned = wp.normalize(q + wp.quat(spins[i], 0.0) * q * 0.5 * dt)
    pose = wp.transform(p, turned)
    poses[i] = pose
    out[i] = wp.transform_point(pose, points[i])


@wp.func
def sample(field: wp.array2d(dtype=float), x: float, y: float):
    i, j = int(wp.floor(x)), int(wp.floor(y))
    s, t = x - float(i), y - float(j)
    n, m = field.shape[0], field.shape[1]
    i, j = wp.clamp(i, 0, n - 2), wp.clamp(j, 0, m - 2)
    return wp.lerp(wp.lerp(field[i, j], field[i + 1, j], s), wp.lerp(field[i, j + 1], field[i + 1, j + 1], s), t)


@wp.kernel
def advect(u: wp.array2d(dtype=float), v: wp.array2d(dtype=float), before: wp.array2d(dtype=float), after: wp.array2d(dtype=float), dt: float):
    i, j = wp.tid()
    after[i, j] = sample(before, float(i) - u[i, j] * dt, float(j) - v[i, j] * dt)


@wp.kernel
def wave(before: wp.array2d(dtype=float), now: wp.array2d(dtype=float), after: wp.array2d(dtype=float), speed: float):
    i, j = wp.tid()
    if i > 0 and j > 0 and i < now.shape[0] - 1 and j < now.shape[1] - 1:
        laplacian = now[i - 1, j] + now[i + 1, j] + now[i, j - 1] + now[i, j + 1] - 4.0 * now[i, j]
        after[i, j] = 2.0 * now[i, j] - before[i, j] + speed * laplacian


@wp.kernel
def pendulum(angles: wp.array(dtype=wp.float64), speeds: wp.array(dtype=wp.float64), steps: int):
    i = wp.tid()
    a = wp.float64(angles[i])
    s = wp.float64(speeds[i])
    for k in range(steps):
        s = s - wp.sin(a) * wp.float64(0.01)
        a = a + s * wp.float64(0.01)
    angles[i] = a
    speeds[i] = s


@wp.kernel
def noise(seed: int, out: wp.array(dtype=float)):
    i = wp.tid()
    state = wp.rand_init(seed, i)
    p = wp.vec3(wp.randf(state), wp.randn(state), float(i) * 0.1)
    out[i] = wp.noise(state, p) + wp.curlnoise(state, p)[0] + float(wp.poisson(state, 3.0))


KERNELS = [integrate, springs, tetrahedra, polar_rotation, rigid_bodies, advect, wave, pendulum, noise]
