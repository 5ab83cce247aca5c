"""Queries of meshes, volumes, hash grids and bounding-volume hierarchies."""
import warp as wp


@wp.kernel
def cast_rays(mesh: wp.uint64, starts: wp.array(dtype=wp.vec3), directions: wp.array(dtype=wp.vec3), hits: wp.array(dtype=float),
              normals: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    q = wp.mesh_query_ray(mesh, starts[i], directions[i], 1.0e6)
    if q.result:
        hits[i] = q.t
        normals[i] = q.normal


@wp.kernel
def signed_distance(mesh: wp.uint64, points: wp.array(dtype=wp.vec3), distances: wp.array(dtype=float)):
    i = wp.tid()
    q = wp.mesh_query_point(mesh, points[i], 10.0)
    if q.result:
        distances[i] = q.sign * wp.length(points[i] - wp.mesh_eval_position(mesh, q.face, q.u, q.v))


@wp.kernel
def overlaps(mesh: wp.uint64, low: wp.array(dtype=wp.vec3), high: wp.array(dtype=wp.vec3), counts: wp.array(dtype=int)):
    i = wp.tid()
    query = wp.mesh_query_aabb(mesh, low[i], high[i])
    face, count = int(0), int(0)
    while wp.mesh_query_aabb_next(query, face):
        count += 1
    counts[i] = count


@wp.kernel
def hierarchy(tree: wp.uint64, low: wp.array(dtype=wp.vec3), high: wp.array(dtype=wp.vec3), sums: wp.array(dtype=int)):
    i = wp.tid()
    query = wp.bvh_query_aabb(tree, low[i], high[i])
    found, total = int(0), int(0)
    while wp.bvh_query_next(query, found):
        total += found
    sums[i] = total


@wp.kernel
def neighbors(grid: wp.uint64, x: wp.array(dtype=wp.vec3), density: wp.array(dtype=float), radius: float):
    i = wp.hash_grid_point_id(grid, wp.tid())
    total = float(0.0)
    for j in wp.hash_grid_query(grid, x[i], radius):
        gap = radius * radius - wp.length_sq(x[i] - x[j])
        if gap > 0.0:
            total += gap * gap * gap
    density[i] = total


@wp.kernel
def sample_volume(volume: wp.uint64, points: wp.array(dtype=wp.vec3), values: wp.array(dtype=float), gradients: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    g = wp.vec3()
    values[i] = wp.volume_sample_grad_f(volume, wp.volume_world_to_index(volume, points[i]), wp.Volume.LINEAR, g)
    gradients[i] = g


KERNELS = [cast_rays, signed_distance, overlaps, hierarchy, neighbors, sample_volume]
